"""A message by its channel and its id: now, for later, or what is left of it."""

from typing import Any

from broker_project.lib.patterns import PUBLIC_ID
from channels_app.admin.messages import HEAD, SIZE
from channels_app.models import Channel, Message, MessageKey
from channels_app.tombstones import refuse_pruned
from scheduling_app.models import ScheduledMessage

Row = Message | ScheduledMessage


def find(channel_id: str, message_id: str) -> Row | None:
    """Its payload is not read. Ids of channels are used again: the live one comes first, then the last deleted."""
    if not PUBLIC_ID.fullmatch(channel_id) or not PUBLIC_ID.fullmatch(message_id):
        return None
    for channel in _channels(channel_id):
        row = _of(channel, message_id)
        if row is not None:
            row.channel = channel
            return row
    return None


def head(row: Row) -> bytes:
    """The beginning of its payload."""
    found = type(row)._default_manager.filter(pk=row.pk).values_list(HEAD, flat=True).first()
    return bytes(found or b"")


def payload(row: Row) -> bytes:
    found = type(row)._default_manager.filter(pk=row.pk).values_list("payload", flat=True).first()
    return bytes(found or b"")


def size(row: Any) -> int:
    """As it was read along with the row."""
    return int(row.bytes or 0)


def is_expunged(row: Row) -> bool:
    return isinstance(row, Message) and row.expunged_at is not None


def _channels(public_id: str) -> list[Channel]:
    rows = list(Channel.objects.defer("token").filter(public_id=public_id).order_by("-pk"))
    return sorted(rows, key=lambda row: row.deleted_at is not None)


def _of(channel: Channel, message_id: str) -> Row | None:
    """By its key, which says in which table it is, or that it was pruned."""
    keys = MessageKey.objects.filter(channel_id=channel.pk, message_id=message_id)
    key = keys.first()
    if key is None:
        return None
    model: Any = ScheduledMessage if key.scheduled else Message
    rows = model.objects.select_related("producer").defer("payload", "producer__token").annotate(bytes=SIZE)
    row: Row | None = rows.filter(pk=key.row_id).first()
    if row is None:
        refuse_pruned(keys)
    return row
