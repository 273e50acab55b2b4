"""Reads of messages, now and for later together."""

from dataclasses import dataclass
from datetime import datetime

from channels_app.models import Channel, MessageStatus
from channels_app.selectors import message_counts


@dataclass(frozen=True)
class ForLater:
    """What a channel holds for later: still waiting, dispatched already, and when the next is due."""

    scheduled: int
    dispatched: int
    next_at: datetime | None


@dataclass(frozen=True)
class MessagesStatus:
    acknowledged: int
    dispatched: int
    for_later: ForLater


def messages_status(channel: Channel) -> MessagesStatus:
    counts = message_counts(channel)
    return MessagesStatus(counts[MessageStatus.ACKNOWLEDGED], counts[MessageStatus.DISPATCHED], for_later(channel))


def for_later(_channel: Channel) -> ForLater:
    """The one place to fill in once messages can be scheduled; until then there are none."""
    return ForLater(scheduled=0, dispatched=0, next_at=None)
