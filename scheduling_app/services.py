"""Acts on messages for later, by whoever may. A race with a dispatch has one winner, and says which."""

from datetime import datetime
from typing import Any

import structlog

from broker_project.lib.errors import BrokerError
from channels_app.models import Channel, Message, Operation
from channels_app.operations import acts
from scheduling_app.bells import ring_dispatch
from scheduling_app.bulk import BulkCancel, BulkReschedule, newest_id
from scheduling_app.dispatch import Lane, next_due_in
from scheduling_app.errors import AlreadyCancelled, AlreadyDispatched, SetAside, UnknownScheduledMessage
from scheduling_app.models import ScheduledMessage, ScheduledStatus

log = structlog.get_logger(__name__)

LOST: dict[int, type[BrokerError]] = {
    ScheduledStatus.DISPATCHED: AlreadyDispatched,
    ScheduledStatus.CANCELLED: AlreadyCancelled,
    ScheduledStatus.SET_ASIDE: SetAside,
}


def cancel(*, message: ScheduledMessage, by: str) -> None:
    _won(message, _row(message).cancel())
    log.info("scheduled.cancelled", message=message.message_id, by=by)


def change(*, message: ScheduledMessage, by: str, **values: Any) -> None:
    """Payload, content type, headers, priority; and `scheduled_for`, from which the row keeps what it was spread by."""
    _won(message, _row(message).change(**values))
    log.info("scheduled.changed", message=message.message_id, by=by, fields=sorted(values))
    ring_next(message)


def reschedule(*, message: ScheduledMessage, to: datetime, by: str) -> None:
    change(message=message, by=by, scheduled_for=to)


def dispatch_now(*, message: ScheduledMessage, by: str) -> None:
    _won(message, _row(message).make_due())
    log.info("scheduled.sent_now", message=message.message_id, by=by)
    ring_next(message)


def bulk_cancel(*, channel: Channel, chosen: dict[str, Any], by: str) -> Operation:
    """All that the filter names and that are there now, in the background."""
    parameters = {"filter": chosen}
    return acts.start(kind=BulkCancel.name, channel=channel, parameters=parameters, until=newest_id(channel.pk), by=by)


def bulk_reschedule(*, channel: Channel, chosen: dict[str, Any], new_time: dict[str, Any], by: str) -> Operation:
    parameters = {"filter": chosen, **new_time}
    return acts.start(
        kind=BulkReschedule.name, channel=channel, parameters=parameters, until=newest_id(channel.pk), by=by
    )


def expunge_copy(message: Message) -> None:
    """What a message was made from goes with it."""
    ScheduledMessage.objects.filter(channel_id=message.channel_id, message_id=message.message_id).expunge()


def ring_next(message: ScheduledMessage) -> None:
    """Its lane may have something to do sooner than it knew."""
    lane = Lane(message.channel_id, message.partition)
    wait = next_due_in(lane)
    if wait is not None:
        ring_dispatch(lane, wait)


def _row(message: ScheduledMessage) -> Any:
    return ScheduledMessage.objects.filter(pk=message.pk)


def _won(message: ScheduledMessage, moved: int) -> None:
    """Nothing moved: somebody was first, and the row says who."""
    try:
        message.refresh_from_db()
    except ScheduledMessage.DoesNotExist as error:
        # One that had ended long ago, pruned since it was asked for.
        raise UnknownScheduledMessage from error
    if not moved:
        raise LOST[message.status]
