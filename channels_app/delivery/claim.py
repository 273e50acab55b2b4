"""Step 3: a batch of ready jobs becomes INFLIGHT, leased to this process."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import args_row

from channels_app.delivery.target import Target

LEASE_MARGIN_SECONDS = 15.0
MOST_BYTES = 8 * 1024 * 1024

# By an array of ids, not by a join: a planner that believes the table to be empty would read all of it.
# Priority first, then the oldest: the order of the index job_ready, so that only the batch is read. It ends at its
# row limit or at its bytes; the size of a payload is known without reading it.
_CLAIM = """
WITH ready AS MATERIALIZED (
    SELECT j.id, j.priority, octet_length(m.payload) AS size
    FROM delivery_job j JOIN message m ON m.id = j.message_id
    WHERE j.consumer_id = %(consumer)s AND j.status = 1001 AND j.next_attempt_at IS NULL
    ORDER BY j.priority DESC, j.id LIMIT %(most)s FOR UPDATE OF j SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT id FROM (SELECT id, sum(size) OVER (ORDER BY priority DESC, id) - size AS before FROM ready) AS measured
    WHERE before < %(bytes)s
), taken AS (
    UPDATE delivery_job SET status = 1002, attempt = attempt + 1, status_changed_at = now(),
           lease_until = now() + make_interval(secs => %(lease)s), received_at = NULL, started_at = NULL,
           device_id = NULL, device_started_at = NULL, device_completed_at = NULL
    WHERE id = ANY (ARRAY(SELECT id FROM fits))
    RETURNING id, attempt, failures, priority, message_id, expires_at
)
SELECT taken.id, taken.attempt, taken.failures, taken.priority, message.message_id, message.payload,
       message.content_type, message.headers, taken.expires_at <= now(),
       extract(epoch FROM now() - message.received_at)::float8
FROM taken JOIN message ON message.id = taken.message_id
ORDER BY taken.priority DESC, taken.id
"""


@dataclass(frozen=True)
class Job:
    """One claimed job with its message."""

    job_id: int
    attempt: int
    failures: int
    priority: int
    message_id: str
    payload: bytes
    content_type: str
    headers: dict[str, Any]
    is_expired: bool
    # How old its message was when it was claimed, and when that was: for the metrics.
    age_seconds: float = 0.0
    claimed_at: float = field(default_factory=time.monotonic)

    @property
    def size(self) -> int:
        return len(self.payload)


@dataclass(frozen=True)
class Claimed:
    """`more` says that there may be more: the batch ended at one of its limits."""

    jobs: Sequence[Job]
    more: bool


async def claim(connection: AsyncConnection, target: Target, *, most: int, most_bytes: int = MOST_BYTES) -> Claimed:
    lease = target.timeout_seconds + LEASE_MARGIN_SECONDS
    parameters = {"consumer": target.consumer_id, "most": most, "bytes": most_bytes, "lease": lease}
    async with connection.cursor(row_factory=args_row(Job)) as cursor:
        await cursor.execute(_CLAIM, parameters)
        jobs = await cursor.fetchall()
    return Claimed(jobs, more=len(jobs) == most or sum(job.size for job in jobs) >= most_bytes)
