"""A consumer that asks gets a batch of ready jobs, its own until their lease ends."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.pg_arrays import Bigints, Integers

# Leases of one consumer follow one another: what the one before took is counted. No row: it is gone, paused, disabled.
HOLD = """
SELECT 1 FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id
JOIN channel_state cs ON cs.channel_id = k.channel_id
WHERE s.consumer_id = %(consumer)s AND k.deleted_at IS NULL
  AND s.disabled_at IS NULL AND s.paused_at IS NULL AND cs.paused_at IS NULL
FOR UPDATE OF s
"""

# As a claim for push: the order of the index job_ready, up to the rows or the bytes.
_LEASE = """
WITH room AS MATERIALIZED (
    SELECT least(%(most)s, greatest(0, %(cap)s - count(*))) AS free
    FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002
), ready AS MATERIALIZED (
    SELECT j.id, j.priority, octet_length(m.payload) AS size
    FROM delivery_job j JOIN message m ON m.id = j.message_id
    WHERE j.consumer_id = %(consumer)s AND j.status = 1001 AND j.next_attempt_at IS NULL AND j.expires_at > now()
    ORDER BY j.priority DESC, j.id LIMIT (SELECT free FROM room) FOR UPDATE OF j SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, sum(size) OVER line AS upto, row_number() OVER line AS place FROM ready
        WINDOW line AS (ORDER BY priority DESC, id)
    ) AS measured WHERE place = 1 OR upto <= %(bytes)s
), taken AS (
    UPDATE delivery_job SET status = 1002, attempt = attempt + 1, status_changed_at = now(), received_at = now(),
           lease_until = now() + make_interval(secs => %(lease)s), device_id = %(device)s,
           started_at = NULL, device_started_at = NULL, device_completed_at = NULL
    FROM fits WHERE delivery_job.id = fits.id
    RETURNING delivery_job.id, attempt, priority, lease_until, message_id
)
SELECT taken.id, taken.attempt, taken.priority, taken.lease_until, message.message_id, message.payload,
       message.content_type, message.headers, message.received_at
FROM taken JOIN message ON message.id = taken.message_id
ORDER BY taken.priority DESC, taken.id
"""

# Nobody got it: it is as if it had not been leased, but for the fence.
_RELEASE = """
WITH held AS MATERIALIZED (
    SELECT j.id FROM delivery_job j JOIN unnest(%(jobs)s, %(attempts)s) AS given (id, attempt) ON given.id = j.id
    WHERE j.status = 1002 AND j.attempt = given.attempt ORDER BY j.id FOR UPDATE OF j
)
UPDATE delivery_job SET status = 1001, lease_until = NULL, received_at = NULL, device_id = NULL,
       status_changed_at = now()
FROM held WHERE delivery_job.id = held.id
"""

_WITH_READY_JOBS = """
SELECT asked.id FROM unnest(%s::bigint[]) AS asked (id) WHERE EXISTS (
    SELECT FROM delivery_job j WHERE j.consumer_id = asked.id AND j.status = 1001 AND j.next_attempt_at IS NULL
)
"""


class Ask(NamedTuple):
    """What a consumer asks for. `cap` is how many it may hold in all."""

    consumer_id: int
    cap: int
    limit: int
    lease_seconds: float
    max_bytes: int
    device_id: str | None = None


class Leased(NamedTuple):
    """A job with its message, and until when it is the consumer's."""

    job_id: int
    attempt: int
    priority: int
    lease_until: datetime
    message_id: str
    payload: bytes
    content_type: str
    headers: dict[str, Any]
    published_at: datetime


async def lease(connection: AsyncConnection, ask: Ask) -> list[Leased]:
    """The best ready jobs, one at least whatever its size. Two statements: the second sees what the lock waited for."""
    parameters = {
        "consumer": ask.consumer_id,
        "cap": ask.cap,
        "most": ask.limit,
        "bytes": ask.max_bytes,
        "lease": ask.lease_seconds,
        "device": ask.device_id,
    }
    async with connection.transaction(), connection.cursor(row_factory=args_row(Leased)) as cursor:
        held = await connection.execute(HOLD, parameters)
        if not held.rowcount:
            return []
        await cursor.execute(_LEASE, parameters)
        return await cursor.fetchall()


async def release(connection: AsyncConnection, jobs: Sequence[Leased]) -> None:
    """Ready for the next who asks; no failure."""
    parameters = {"jobs": Bigints([job.job_id for job in jobs]), "attempts": Integers([job.attempt for job in jobs])}
    await connection.execute(_RELEASE, parameters)


async def with_ready_jobs(connection: AsyncConnection, consumer_ids: Sequence[int]) -> list[int]:
    """Those of them who would get something."""
    cursor = await connection.execute(_WITH_READY_JOBS, (list(consumer_ids),))
    return [row[0] for row in await cursor.fetchall()]
