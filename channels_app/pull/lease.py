"""A consumer that asks gets a batch of ready jobs, its own until their lease ends."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.pg_arrays import Bigints, Integers

# Leases of one consumer follow one another. A statement of its own: the next one sees what the lock waited for.
_HOLD = "SELECT FROM consumer_state WHERE consumer_id = %(consumer)s FOR UPDATE"

# How many it has. No row: it is gone, paused or disabled, or since a moment ago it takes no leases any more.
_LOOK = """
SELECT (SELECT count(*) FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002)
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id JOIN channel_state cs ON cs.channel_id = k.channel_id
WHERE s.consumer_id = %(consumer)s AND k.type = 'pull' AND k.pull_mode = 'lease' AND k.deleted_at IS NULL
  AND s.disabled_at IS NULL AND s.paused_at IS NULL AND cs.paused_at IS NULL
"""

# As a claim for push: the order of the index job_ready, up to the rows or the bytes. The limit is a number: of one that
# it does not know the planner believes that it is a tenth of all that is ready, and reads the whole table.
_LEASE = """
WITH ready AS MATERIALIZED (
    SELECT j.id, j.priority, j.partition, octet_length(m.payload) AS size
    FROM delivery_job j JOIN message m ON m.id = j.message_id
    WHERE j.consumer_id = %(consumer)s AND j.status = 1001 AND j.next_attempt_at IS NULL AND j.expires_at > now()
    ORDER BY j.priority DESC, j.id LIMIT %(most)s FOR UPDATE OF j SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, sum(size) OVER line AS upto, row_number() OVER line AS place FROM ready
        WHERE NOT %(of_one)s OR partition = (SELECT partition FROM ready ORDER BY priority DESC, id LIMIT 1)
        WINDOW line AS (ORDER BY priority DESC, id)
    ) AS measured WHERE place = 1 OR upto <= %(bytes)s
), taken AS (
    UPDATE delivery_job SET status = 1002, attempt = attempt + 1, status_changed_at = now(), received_at = now(),
           lease_until = now() + make_interval(secs => %(lease)s), device_id = %(device)s,
           started_at = NULL, device_started_at = NULL, device_completed_at = NULL
    WHERE id = ANY (ARRAY(SELECT id FROM fits))
    RETURNING id, attempt, priority, lease_until, message_id, failures, partition
)
SELECT taken.id, taken.attempt, taken.priority, taken.lease_until, message.message_id, message.payload,
       message.content_type, message.headers, message.received_at, taken.failures, taken.partition
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
FROM held WHERE delivery_job.id = held.id RETURNING consumer_id
"""

# One by one, in the order of the index: as a join the planner may read every ready job there is.
_WITH_READY_JOBS = """
SELECT asked.id FROM unnest(%s::bigint[]) AS asked (id) CROSS JOIN LATERAL (
    SELECT FROM delivery_job j WHERE j.consumer_id = asked.id AND j.status = 1001 AND j.next_attempt_at IS NULL
    ORDER BY j.priority DESC, j.id LIMIT 1
) AS ready
"""


class Ask(NamedTuple):
    """What a consumer asks for. `cap` is how many it may hold in all; `of_one_partition`: the one of the best job."""

    consumer_id: int
    cap: int
    limit: int
    lease_seconds: float
    max_bytes: int
    device_id: str | None = None
    of_one_partition: bool = False


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
    failures: int = 0
    partition: int = 0


async def lease(connection: AsyncConnection, ask: Ask) -> list[Leased]:
    """The best ready jobs, one at least whatever its size."""
    async with connection.transaction(), connection.cursor(row_factory=args_row(Leased)) as cursor:
        in_flight = await hold(connection, ask.consumer_id)
        if in_flight is None or in_flight >= ask.cap:
            return []
        parameters = {
            "consumer": ask.consumer_id,
            "most": min(ask.limit, ask.cap - in_flight),
            "bytes": ask.max_bytes,
            "lease": ask.lease_seconds,
            "device": ask.device_id,
            "of_one": ask.of_one_partition,
        }
        await cursor.execute(_LEASE, parameters)
        return await cursor.fetchall()


async def hold(connection: AsyncConnection, consumer_id: int) -> int | None:
    """In a transaction: it is our turn to take jobs of this consumer. How many it has; None: it may take none."""
    await connection.execute(_HOLD, {"consumer": consumer_id})
    row = await (await connection.execute(_LOOK, {"consumer": consumer_id})).fetchone()
    return None if row is None else int(row[0])


async def release(connection: AsyncConnection, jobs: Sequence[Leased]) -> set[int]:
    """Ready for the next who asks; no failure. Says whose they are."""
    parameters = {"jobs": Bigints([job.job_id for job in jobs]), "attempts": Integers([job.attempt for job in jobs])}
    cursor = await connection.execute(_RELEASE, parameters)
    return {row[0] for row in await cursor.fetchall()}


async def with_ready_jobs(connection: AsyncConnection, consumer_ids: Sequence[int]) -> list[int]:
    """Those of them who would get something."""
    cursor = await connection.execute(_WITH_READY_JOBS, (list(consumer_ids),))
    return [row[0] for row in await cursor.fetchall()]
