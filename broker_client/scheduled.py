"""Messages for later, by the id you gave them: read, cancel, put off, send at once."""

from datetime import datetime, timedelta

from broker_client.flow import Answer, Flow, Request, json_request, path
from broker_client.identity import Identity
from broker_client.outgoing import due, rfc3339
from broker_client.values import ScheduledMessage


def scheduled_message(identity: Identity, channel: str, message_id: str) -> Flow[ScheduledMessage]:
    """One message for later, also after it was dispatched or cancelled."""
    answer = yield Request("GET", _place(channel, message_id), identity.as_reader(channel))
    return ScheduledMessage.of(answer.expect().json())


def cancel(identity: Identity, channel: str, message_id: str) -> Flow[None]:
    """It is not sent; its id stays used. Conflict when it was dispatched before."""
    answer = yield Request("DELETE", _place(channel, message_id), _actor(identity, channel))
    if not _done_before(answer, "already_cancelled"):
        answer.expect()


def reschedule(
    identity: Identity,
    channel: str,
    message_id: str,
    *,
    scheduled_for: datetime | None = None,
    delay: timedelta | float | None = None,
) -> Flow[ScheduledMessage]:
    """Another time. Conflict when it was dispatched or cancelled before."""
    time = due(scheduled_for, delay)
    if time is None:
        raise ValueError("Give scheduled_for or delay.")
    change = {"scheduledFor": rfc3339(time)}
    answer = yield json_request("PATCH", _place(channel, message_id), _actor(identity, channel), change)
    return ScheduledMessage.of(answer.expect().json())


def dispatch_now(identity: Identity, channel: str, message_id: str) -> Flow[None]:
    """Sent at once, whatever its time is."""
    answer = yield Request("POST", _place(channel, message_id) + "/dispatch-now", _actor(identity, channel))
    if not _done_before(answer, "already_dispatched"):
        answer.expect()


def _place(channel: str, message_id: str) -> str:
    return path("channel", channel, "scheduled-message", message_id)


def _actor(identity: Identity, channel: str) -> dict[str, str]:
    return identity.as_manager() or identity.as_producer(channel)


def _done_before(answer: Answer, code: str) -> bool:
    """By an earlier try, whose answer was lost."""
    return answer.is_repeat and answer.document().get("code") == code
