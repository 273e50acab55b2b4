"""Step 3: a batch of ready jobs becomes INFLIGHT, leased to this process."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from channels_app.delivery.retry import Policy
from channels_app.models.fields import sealer

LEASE_MARGIN_SECONDS = 15.0

# The state row is the consumer's lock: while somebody else delivers to it there is nothing to do here.
_LOCK = """
SELECT k.id AS consumer_id, k.public_id AS consumer, c.public_id AS channel, k.callback_url, k.token AS sealed_token,
       k.signing_secret AS sealed_secret, k.timeout_seconds, s.slots,
       coalesce(k.max_in_flight, 100) AS max_in_flight,
       coalesce(k.retries, c.retries) AS retries,
       coalesce(k.retry_initial_seconds, c.retry_initial_seconds) AS initial_seconds,
       coalesce(k.retry_factor, c.retry_factor) AS factor,
       coalesce(k.retry_ceiling_seconds, c.retry_ceiling_seconds) AS ceiling_seconds,
       coalesce(k.retry_jitter, c.retry_jitter) AS jitter,
       coalesce(k.non_retriable, c.non_retriable) AS non_retriable,
       (SELECT count(*) FROM delivery_job j WHERE j.consumer_id = k.id AND j.status = 1002) AS in_flight
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id JOIN channel c ON c.id = k.channel_id
WHERE s.consumer_id = %s AND k.deleted_at IS NULL AND k.type = 'push' AND s.disabled_at IS NULL
FOR UPDATE OF s NOWAIT
"""

# Priority first, then the oldest: the order of the index job_ready, so that only the batch is read.
_CLAIM = """
WITH ready AS MATERIALIZED (
    SELECT id FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL
    ORDER BY priority DESC, id LIMIT %(most)s FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE delivery_job SET status = 1002, attempt = attempt + 1, status_changed_at = now(),
           lease_until = now() + make_interval(secs => %(lease)s)
    FROM ready WHERE delivery_job.id = ready.id
    RETURNING delivery_job.id, attempt, failures, priority, message_id
)
SELECT taken.id AS job_id, taken.attempt, taken.failures, taken.priority, message.message_id, message.payload,
       message.content_type, message.headers,
       extract(epoch FROM now() - message.received_at)::float8 AS age_seconds
FROM taken JOIN message ON message.id = taken.message_id
ORDER BY taken.priority DESC, taken.id
"""


@dataclass(frozen=True)
class Target:
    """A consumer as a delivery needs it; what it leaves open is filled in by its channel."""

    consumer_id: int
    consumer: str
    channel: str
    callback_url: str
    sealed_token: str
    sealed_secret: str
    timeout_seconds: float
    slots: int
    max_in_flight: int
    retries: int
    initial_seconds: float
    factor: float
    ceiling_seconds: float
    jitter: str
    non_retriable: list[str]
    in_flight: int

    @property
    def policy(self) -> Policy:
        return Policy(
            self.retries,
            self.initial_seconds,
            self.factor,
            self.ceiling_seconds,
            self.jitter,
            frozenset(self.non_retriable),
        )

    @property
    def token(self) -> str:
        return sealer().unseal(self.sealed_token)

    @property
    def secrets(self) -> list[str]:
        return [sealer().unseal(self.sealed_secret)]


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
    # How old its message was when it was claimed, and when that was: for the metrics.
    age_seconds: float = 0.0
    claimed_at: float = field(default_factory=time.monotonic)


async def lock(connection: AsyncConnection, consumer_id: int) -> Target | None:
    async with connection.cursor(row_factory=class_row(Target)) as cursor:
        await cursor.execute(_LOCK, (consumer_id,))
        return await cursor.fetchone()


async def claim(connection: AsyncConnection, target: Target, most: int) -> Sequence[Job]:
    lease = target.timeout_seconds + LEASE_MARGIN_SECONDS
    async with connection.cursor(row_factory=class_row(Job)) as cursor:
        await cursor.execute(_CLAIM, {"consumer": target.consumer_id, "most": most, "lease": lease})
        return await cursor.fetchall()
