"""Where a consumer begins that polls by index. For the registry, on Django's connection, in its transaction."""

from datetime import datetime

from broker_project.lib.bound import fetch
from broker_project.lib.errors import BrokerError
from channels_app.models import ChannelState, Consumer, ConsumerState
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.pull.index.moments import INDEX_BEFORE
from channels_app.pull.index.seek import NoSuchPlace

Start = int | datetime | None

# By the three indexes that open jobs have; one statement over all of them would read the whole table.
_OLDEST_OPEN = """
SELECT min(m.sequence) FROM (
    SELECT message_id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL
    UNION ALL
    SELECT message_id FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NOT NULL
    UNION ALL
    SELECT message_id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002
) AS open JOIN message m ON m.id = open.message_id
"""

# Who polled has its jobs without a time; who leases, or is pushed to, has not.
_LEASE_POLLED = """
WITH held AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002 AND lease_until IS NULL
    ORDER BY id FOR UPDATE
)
UPDATE delivery_job j SET lease_until = now() + make_interval(secs => %(seconds)s)
FROM held WHERE j.id = held.id RETURNING j.id
"""


class StartNeedsIndex(BrokerError):
    """startFrom is for a consumer of type pull with pullMode index."""


class StartIsPast(BrokerError):
    """startFrom says where a new consumer begins, and this one is not new: POST to its seek instead."""


def polls(consumer: Consumer) -> bool:
    return consumer.type == ConsumerType.PULL and consumer.pull_mode == PullMode.INDEX


def begin(consumer: Consumer, start: Start) -> None:
    """A new consumer: at the next message, at an index, or at the first message from a time on."""
    if polls(consumer):
        last = _hold_sequence(consumer)
        _stand(consumer, _begin_at(consumer, start, last))
    elif start is not None:
        raise StartNeedsIndex


def change_over(consumer: Consumer) -> None:
    """One that becomes a poller begins before its oldest open job; what it had done after that comes again.

    One that ceases to be has its acknowledgement timeout for what it has polled.
    """
    # A poll under way ends first; one that comes later sees the change.
    ConsumerState.objects.select_for_update().get(pk=consumer.pk)
    if not polls(consumer):
        fetch(_LEASE_POLLED, {"consumer": consumer.pk, "seconds": consumer.ack_timeout_seconds})
        return
    last = _hold_sequence(consumer)
    oldest = fetch(_OLDEST_OPEN, {"consumer": consumer.pk})[0][0]
    _stand(consumer, last if oldest is None else oldest - 1)


def _hold_sequence(consumer: Consumer) -> int:
    """Fan-out waits: what it numbers from now on is after the place that we choose."""
    return ChannelState.objects.select_for_update().get(pk=consumer.channel_id).last_sequence


def _begin_at(consumer: Consumer, start: Start, last: int) -> int:
    if start is None:
        return last
    if isinstance(start, datetime):
        return int(fetch(INDEX_BEFORE, {"channel": consumer.channel_id, "at": start})[0][0])
    if not 0 <= start <= last:
        raise NoSuchPlace
    return start


def _stand(consumer: Consumer, index: int) -> None:
    ConsumerState.objects.filter(pk=consumer.pk).update(acked_index=index, sent_index=index)
