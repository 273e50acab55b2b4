"""The story of a message for later: stored, due, and what became of it."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.timesince import timesince

from channels_app.admin.states import written
from channels_app.admin.timeline import Moment
from scheduling_app.models import ScheduledMessage, ScheduledStatus

TONES = {"SCHEDULED": "info", "DISPATCHED": "success", "CANCELLED": "warning", "SET_ASIDE": "danger"}
BECAUSE = {
    "channel_gone": "its channel was deleted",
    "id_taken": "another message of the channel has its id",
}


def because(reason: str | None) -> str:
    """In words. A reason that nobody has put into words is shown as it is."""
    return BECAUSE.get(reason or "", reason or "")


def wait(due_at: datetime, now: datetime) -> str:
    """How long until it is due, or since."""
    seconds = (due_at - now).total_seconds()
    length = f"{abs(seconds):.0f} s" if abs(seconds) < 60 else timesince(min(due_at, now), max(due_at, now))
    return f"in {length}" if seconds > 0 else f"{length} late"


def story(message: ScheduledMessage, now: datetime) -> Iterator[Moment]:
    since = message.created_at
    yield Moment("accepted", "info", f"Stored for later, from producer {message.producer}.", since)
    yield Moment("due", "info", _due(message), message.due_at, since)
    yield _end(message, now)


def _due(message: ScheduledMessage) -> str:
    spread = (message.due_at - message.scheduled_for).total_seconds()
    if not spread:
        return "The time that was asked for."
    return f"Asked for {written(message.scheduled_for)}; {spread:.1f} s later, as its channel spreads."


def _end(message: ScheduledMessage, now: datetime) -> Moment:
    """Where it stands."""
    at, since = message.status_changed_at, message.created_at
    match ScheduledStatus(message.status):
        case ScheduledStatus.SCHEDULED:
            return _waiting(message, now)
        case ScheduledStatus.DISPATCHED:
            return Moment("dispatched", "success", _dispatched(message), message.dispatched_at, since)
        case ScheduledStatus.CANCELLED:
            text = f"It will not be sent: {because(message.reason) or 'somebody cancelled it'}."
            return Moment("cancelled", "warning", text, at, since)
        case ScheduledStatus.SET_ASIDE:
            return Moment("set aside", "danger", f"It could not be sent: {because(message.reason)}.", at, since)


def _waiting(message: ScheduledMessage, now: datetime) -> Moment:
    rate = message.channel.release_per_second
    held = f" Its channel releases {rate:g} a second." if rate else ""
    if message.due_at > now:
        return Moment("waiting", "info", f"Waits for its time, {wait(message.due_at, now)}.{held}")
    return Moment("waiting", "warning", f"Waits to be dispatched, {wait(message.due_at, now)}.{held}")


def _dispatched(message: ScheduledMessage) -> str:
    if message.dispatched_at is None:
        return "It is a message now."
    late = (message.dispatched_at - message.due_at).total_seconds()
    return f"It is a message now, {late:.3f} s after it was due."
