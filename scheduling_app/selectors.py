"""Reads of messages, now and for later together."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker_project.lib.bound import fetch
from broker_project.lib.patterns import PUBLIC_ID
from channels_app.models import Channel, Message, MessageKey, MessageStatus
from channels_app.origins import Origin
from channels_app.selectors import message_counts
from channels_app.tombstones import refuse_pruned
from scheduling_app import bulk
from scheduling_app.errors import UnknownScheduledMessage
from scheduling_app.models import ScheduledMessage, ScheduledStatus

# Counters of kind 3 have the partition in the consumer's place.
_COUNTS = """
SELECT consumer_id, status, sum(count)::bigint FROM (
    SELECT consumer_id, status, count FROM counter WHERE kind = 3 AND channel_id = %(channel)s::bigint
    UNION ALL
    SELECT consumer_id, status, count FROM counter_delta WHERE kind = 3 AND channel_id = %(channel)s::bigint
) AS counted
GROUP BY consumer_id, status
"""
# The first of each partition, by skipping along the index.
_FIRSTS = """
WITH RECURSIVE first AS (
    (SELECT partition, due_at FROM scheduled_message WHERE channel_id = %(channel)s::bigint AND status = 100
     ORDER BY partition, due_at LIMIT 1)
    UNION ALL
    SELECT following.* FROM first CROSS JOIN LATERAL (
        SELECT s.partition, s.due_at FROM scheduled_message s
        WHERE s.channel_id = %(channel)s::bigint AND s.status = 100 AND s.partition > first.partition
        ORDER BY s.partition, s.due_at LIMIT 1
    ) AS following
)
SELECT partition, due_at, greatest(0, extract(epoch FROM now() - due_at))::float8 FROM first
"""


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


@dataclass(frozen=True)
class PartitionStatus:
    """How many wait, when the first of them is due, and by how much that is past."""

    partition: int
    depth: int
    oldest_due_at: datetime | None
    lag_seconds: float


def origin_of(message: Message) -> Origin | None:
    """The message for later that this one was."""
    rows = ScheduledMessage.objects.filter(channel_id=message.channel_id, message_id=message.message_id)
    row = rows.filter(status=ScheduledStatus.DISPATCHED).only("created_at", "scheduled_for").first()
    if row is None:
        return None
    url = f"/channel/{message.channel.public_id}/scheduled-message/{message.message_id}"
    return Origin(row.pk, row.created_at, row.scheduled_for, url)


def messages_status(channel: Channel) -> MessagesStatus:
    counts = message_counts(channel)
    return MessagesStatus(counts[MessageStatus.ACKNOWLEDGED], counts[MessageStatus.DISPATCHED], for_later(channel))


def for_later(channel: Channel) -> ForLater:
    counts = fetch(_COUNTS, {"channel": channel.pk})
    of = {status: sum(count for _, found, count in counts if found == status) for status in ScheduledStatus}
    next_at = min((due_at for _, due_at, _ in fetch(_FIRSTS, {"channel": channel.pk})), default=None)
    return ForLater(of[ScheduledStatus.SCHEDULED], of[ScheduledStatus.DISPATCHED], next_at)


def partitions_status(channel: Channel) -> list[PartitionStatus]:
    """Of every partition, and of those that a smaller number has left behind with something in them."""
    counts = fetch(_COUNTS, {"channel": channel.pk})
    depths = {partition: count for partition, status, count in counts if status == ScheduledStatus.SCHEDULED}
    firsts = {partition: (due_at, lag) for partition, due_at, lag in fetch(_FIRSTS, {"channel": channel.pk})}
    numbers = sorted({*range(channel.partitions), *firsts})
    return [PartitionStatus(n, depths.get(n, 0), *firsts.get(n, (None, 0.0))) for n in numbers]


def count_scheduled(channel: Channel, chosen: dict[str, Any]) -> int:
    """How many a bulk act with this filter would mean now."""
    return bulk.count(channel.pk, chosen, bulk.newest_id(channel.pk))


def get_scheduled_message(channel: Channel, message_id: str) -> ScheduledMessage:
    if not PUBLIC_ID.fullmatch(message_id):
        raise UnknownScheduledMessage
    rows = ScheduledMessage.objects.select_related("producer")
    found = rows.filter(channel=channel, message_id=message_id).first()
    if found is None:
        # Of one that was dispatched, the key was the message's.
        refuse_pruned(MessageKey.objects.filter(channel_id=channel.pk, message_id=message_id))
        raise UnknownScheduledMessage
    found.channel = channel
    return found
