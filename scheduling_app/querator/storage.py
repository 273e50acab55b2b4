"""What a partition of a queue holds: items in line or leased, and apart from them those that wait for their time."""

import json
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from broker_project.lib.bound import fetch
from scheduling_app.querator.item_ids import ItemId, LaterId
from scheduling_app.querator.queues import QueueInfo

# A page ends after so many bytes of payload, though more items were asked for.
MOST_BYTES = 8 * 1024 * 1024
LAST_ID = 2**63 - 1
_BEGINNING = datetime.min.replace(tzinfo=UTC)

# In the order of the index job_ready, priority by priority: nearly always there is one. What is in flight is read
# without an order, and what has come due since as well: for the first so many by id the planner would go along the
# primary key, past all that is done.
_ITEMS = f"""
WITH RECURSIVE line AS (
    (SELECT priority FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL
     ORDER BY priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT j.priority FROM delivery_job j WHERE j.consumer_id = %(consumer)s AND j.status = 1001
              AND j.next_attempt_at IS NULL AND j.priority < line.priority ORDER BY j.priority DESC LIMIT 1)
    FROM line WHERE line.priority IS NOT NULL
), others AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002
      AND partition = %(partition)s AND id >= %(pivot)s
    UNION ALL
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at <= now()
      AND partition = %(partition)s AND id >= %(pivot)s
), page AS MATERIALIZED (
    SELECT id FROM (
        SELECT ready.id FROM line CROSS JOIN LATERAL (
            SELECT j.id FROM delivery_job j WHERE j.consumer_id = %(consumer)s AND j.status = 1001
              AND j.next_attempt_at IS NULL AND j.priority = line.priority AND j.partition = %(partition)s
              AND j.id >= %(pivot)s
            ORDER BY j.priority DESC, j.id LIMIT %(limit)s
        ) AS ready
        UNION ALL SELECT id FROM others
    ) AS found ORDER BY id LIMIT %(limit)s
), measured AS (
    SELECT j.id, j.partition, j.attempt, m.received_at, j.status_changed_at, j.failures, m.headers, m.payload,
           j.status = 1002 AS is_leased, j.lease_until, j.expires_at,
           sum(octet_length(m.payload)) OVER (ORDER BY j.id) - octet_length(m.payload) AS before
    FROM page JOIN delivery_job j ON j.id = page.id JOIN message m ON m.id = j.message_id
)
SELECT partition, id, attempt, received_at, status_changed_at, failures + is_leased::int, headers::text, payload,
       is_leased, lease_until, expires_at, NULL::timestamptz
FROM measured WHERE before < {MOST_BYTES} ORDER BY id
"""  # noqa: S608

_RETRIED = f"""
WITH page AS MATERIALIZED (
    SELECT id, next_attempt_at FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at > now() AND partition = %(partition)s
      AND (next_attempt_at, id) >= (%(due)s, %(pivot)s)
    ORDER BY next_attempt_at, id LIMIT %(limit)s
), measured AS (
    SELECT j.id, j.partition, j.attempt, j.expires_at, m.received_at, j.status_changed_at, j.failures, m.headers,
           m.payload, page.next_attempt_at,
           sum(octet_length(m.payload)) OVER (ORDER BY page.next_attempt_at, j.id) - octet_length(m.payload) AS before
    FROM page JOIN delivery_job j ON j.id = page.id JOIN message m ON m.id = j.message_id
)
SELECT partition, id, attempt, received_at, status_changed_at, failures, headers::text, payload, false,
       NULL::timestamptz, expires_at, next_attempt_at
FROM measured WHERE before < {MOST_BYTES} ORDER BY next_attempt_at, id
"""  # noqa: S608

_LATER = f"""
WITH page AS MATERIALIZED (
    SELECT id, partition, due_at, created_at, status_changed_at, headers, payload FROM scheduled_message
    WHERE channel_id = %(channel)s AND partition = %(partition)s AND status = 100
      AND (due_at, id) >= (%(due)s, %(pivot)s)
    ORDER BY due_at, id LIMIT %(limit)s
), measured AS (
    SELECT *, sum(octet_length(payload)) OVER (ORDER BY due_at, id) - octet_length(payload) AS before FROM page
)
SELECT partition, id, NULL::int, created_at, status_changed_at, 0, headers::text, payload, false,
       NULL::timestamptz, NULL::timestamptz, due_at
FROM measured WHERE before < {MOST_BYTES} ORDER BY due_at, id
"""  # noqa: S608

# One that is gone from here was due: what is left comes after now.
_DUE_OF_LATER = "SELECT coalesce((SELECT due_at FROM scheduled_message WHERE id = %(pivot)s), now())"
_DUE_OF_JOB = "SELECT coalesce((SELECT next_attempt_at FROM delivery_job WHERE id = %(pivot)s), now())"


class StoredItem(NamedTuple):
    """As the statements have it. A message for later has had no attempt; `enqueue_at` is of one that waits."""

    partition: int
    row_id: int
    attempt: int | None
    created_at: datetime
    updated_at: datetime
    attempts: int
    header_text: str
    payload: bytes
    is_leased: bool
    lease_deadline: datetime | None
    expire_deadline: datetime | None
    enqueue_at: datetime | None

    @property
    def id(self) -> str:
        if self.attempt is None:
            return str(LaterId(self.partition, self.row_id))
        return str(ItemId(self.partition, self.row_id, self.attempt))

    @property
    def headers(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.header_text)
        return found


class _Place(NamedTuple):
    """Where a list begins: a due time, and ids from which those of one due time count."""

    due: datetime = _BEGINNING
    later: int = 0
    job: int = 0


def items(queue: QueueInfo, partition: int, pivot: ItemId | LaterId | None, limit: int) -> list[StoredItem]:
    """By age, the pivot first if it is still there."""
    start = pivot.job_id if isinstance(pivot, ItemId) else 0
    return [StoredItem(*row) for row in fetch(_ITEMS, _asked(queue, partition, limit, pivot=start))]


def scheduled(queue: QueueInfo, partition: int, pivot: ItemId | LaterId | None, limit: int) -> list[StoredItem]:
    """By their times: produced for later, and retried at a time to come."""
    place = _place(pivot)
    asked = _asked(queue, partition, limit, due=place.due)
    later = [StoredItem(*row) for row in fetch(_LATER, {**asked, "pivot": place.later})]
    retried = [StoredItem(*row) for row in fetch(_RETRIED, {**asked, "pivot": place.job})]
    # Of one moment those produced for it come first: the merge is stable.
    return list(islice(merge(later, retried, key=_due), limit))


def _due(item: StoredItem) -> datetime:
    return item.enqueue_at or _BEGINNING


def _asked(queue: QueueInfo, partition: int, limit: int, **more: Any) -> dict[str, Any]:
    ids = {"consumer": queue.consumer.pk, "channel": queue.channel.pk}
    return {**ids, "partition": partition, "limit": limit, **more}


def _place(pivot: ItemId | LaterId | None) -> _Place:
    if pivot is None:
        return _Place()
    if isinstance(pivot, LaterId):
        return _Place(fetch(_DUE_OF_LATER, {"pivot": pivot.row_id})[0][0], later=pivot.row_id)
    return _Place(fetch(_DUE_OF_JOB, {"pivot": pivot.job_id})[0][0], later=LAST_ID, job=pivot.job_id)
