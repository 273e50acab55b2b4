"""X-Broker-Schedule-Mode: replace. Stores a message for later, or puts it in the place of the one with its id."""

from broker_project.api.door_write import written
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from scheduling_app.accept import Later
from scheduling_app.api.headers import Headers
from scheduling_app.api.locations import location
from scheduling_app.bells import ring_for
from scheduling_app.errors import AnotherProducersMessage
from scheduling_app.models import ScheduledStatus
from scheduling_app.replace import Replaced, store_or_replace
from scheduling_app.services import LOST

HEADER = "X-Broker-Schedule-Mode"


class InvalidScheduleMode(BrokerError):
    """X-Broker-Schedule-Mode is replace, and stands with X-Broker-Scheduled-For."""


def replaces(headers: Headers) -> bool:
    mode = headers.one(HEADER)
    if mode is None:
        return False
    if mode != "replace" or headers.one("X-Broker-Scheduled-For") is None:
        raise InvalidScheduleMode
    return True


async def replace(later: Later, channel_id: str) -> Reply | None:
    """201: new. 200: replaced. 409: the one with its id can no longer be; None: and is a message for now."""
    done = await written(lambda connection: store_or_replace(connection, later))
    if not done.is_stored:
        return _refusal(done, later, channel_id)
    ring_for([later._replace(message=later.message._replace(partition=done.partition or 0))])
    place = location(channel_id, later.message.message_id, scheduled=True).encode()
    return Reply(201 if done.is_new else 200, b"", headers=[(b"location", place)])


def _refusal(done: Replaced, later: Later, channel_id: str) -> Reply | None:
    if done.status is None:
        return None
    if done.status == ScheduledStatus.SCHEDULED:
        raise AnotherProducersMessage
    scheduled = done.status != ScheduledStatus.DISPATCHED
    place = location(channel_id, later.message.message_id, scheduled=scheduled).encode()
    return Reply.problem(LOST[done.status](), headers=[(b"location", place)])
