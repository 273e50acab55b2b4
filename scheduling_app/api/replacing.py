"""X-Broker-Schedule-Mode: replace. Stores a message for later, or puts it in the place of the one with its id."""

import asyncio

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.group_commit import DoorFull, OutcomeUnknown, RowRefused
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

log = structlog.get_logger(__name__)

HEADER = "X-Broker-Schedule-Mode"
TRIES = 3
# The rest of the door's connections is for others.
_writers = asyncio.Semaphore(2)


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
    done = await _store(later)
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


async def _store(later: Later) -> Replaced:
    """One that lost against another transaction is tried again."""
    for _ in range(TRIES):
        try:
            async with _writers, door_pool().connection() as connection:
                return await store_or_replace(connection, later)
        except PoolTimeout as error:
            raise DoorFull from error
        except psycopg.Error as error:
            _unless_in_the_way(error)
    raise DoorFull


def _unless_in_the_way(error: psycopg.Error) -> None:
    kind = (error.sqlstate or "")[:2]
    if kind == "40":
        return
    if kind == "55":
        # Somebody held the row for too long.
        raise DoorFull from error
    if kind in ("22", "23"):
        raise RowRefused from error
    log.error("replace.failed", error=type(error).__name__)
    raise OutcomeUnknown from error
