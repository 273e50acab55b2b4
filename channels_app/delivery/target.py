"""Step 3, before the claim: whose turn it is, and the consumer as a delivery needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

from psycopg import AsyncConnection
from psycopg.rows import class_row

from channels_app.delivery.breaker import BreakerState
from channels_app.delivery.retry import Policy
from channels_app.models.fields import sealer

# An advisory lock, not the state row's: whoever settles, pauses or disables must not wait for a turn to end. The
# session's, not a transaction's: no snapshot is held for the second that a turn lasts.
_TAKE_TURN = "SELECT pg_try_advisory_lock(%s)"
_END_TURN = "SELECT pg_advisory_unlock(%s)"
TURN_LOCK = 7_004 << 40

_IN_FLIGHT = "SELECT count(*) FROM delivery_job WHERE consumer_id = %s AND status = 1002"
_READ = """
SELECT k.id AS consumer_id, k.public_id AS consumer, c.public_id AS channel, k.callback_url, k.token AS sealed_token,
       k.signing_secret AS sealed_secret,
       CASE WHEN k.previous_secret_until > now() THEN k.previous_secret END AS sealed_previous_secret,
       k.timeout_seconds, s.slots, coalesce(k.max_in_flight, 100) AS max_in_flight,
       k.ack_mode = 'explicit' AS awaits_acks, k.ack_timeout_seconds, c.answers,
       coalesce(k.retries, c.retries) AS retries,
       coalesce(k.retry_initial_seconds, c.retry_initial_seconds) AS initial_seconds,
       coalesce(k.retry_factor, c.retry_factor) AS factor,
       coalesce(k.retry_ceiling_seconds, c.retry_ceiling_seconds) AS ceiling_seconds,
       coalesce(k.retry_jitter, c.retry_jitter) AS jitter,
       coalesce(k.non_retriable, c.non_retriable) AS non_retriable,
       k.circuit_breaker,
       CASE WHEN NOT k.circuit_breaker OR s.breaker_until IS NULL THEN 'closed'
            WHEN s.breaker_until > now() THEN 'open' ELSE 'half_open' END AS breaker,
       s.streak, k.rate_per_second, coalesce(k.rate_burst, greatest(1, ceil(k.rate_per_second)))::float8 AS rate_burst,
       s.rate_tokens + extract(epoch FROM clock_timestamp() - s.rate_at)::float8 * k.rate_per_second AS rate_tokens,
       (SELECT count(*) FROM delivery_job j WHERE j.consumer_id = k.id AND j.status = 1002) AS in_flight
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id JOIN channel c ON c.id = k.channel_id
JOIN channel_state cs ON cs.channel_id = c.id
WHERE s.consumer_id = %s AND k.deleted_at IS NULL AND k.type = 'push'
  AND s.disabled_at IS NULL AND s.paused_at IS NULL AND cs.paused_at IS NULL
"""


@dataclass(frozen=True)
class Addressee:
    """A consumer as the head of a request to it needs it."""

    consumer_id: int
    consumer: str
    channel: str
    callback_url: str
    sealed_token: str
    sealed_secret: str
    sealed_previous_secret: str | None

    @cached_property
    def token(self) -> str:
        return sealer().unseal(self.sealed_token)

    @cached_property
    def secrets(self) -> list[str]:
        """All live ones sign."""
        return [sealer().unseal(sealed) for sealed in (self.sealed_secret, self.sealed_previous_secret) if sealed]


@dataclass(frozen=True)
class Target(Addressee):
    """A consumer as a delivery needs it; what it leaves open is filled in by its channel."""

    timeout_seconds: float
    slots: int
    max_in_flight: int
    retries: int
    initial_seconds: float
    factor: float
    ceiling_seconds: float
    jitter: str
    non_retriable: list[str]
    circuit_breaker: bool
    breaker: str
    streak: int
    rate_per_second: float | None
    rate_burst: float | None
    rate_tokens: float | None
    in_flight: int
    # Its 2xx only says that it has the job: until it acknowledges, a slot is taken.
    awaits_acks: bool = False
    ack_timeout_seconds: float = 60.0
    # How its answer is read: by its status, or by Dapr's words too.
    answers: str = "http"

    @cached_property
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
    def is_half_open(self) -> bool:
        return self.breaker == BreakerState.HALF_OPEN

    @property
    def is_open(self) -> bool:
        return self.breaker == BreakerState.OPEN


@asynccontextmanager
async def turn_at(connection: AsyncConnection, consumer_id: int) -> AsyncIterator[bool]:
    """One process at a time sends to a consumer; says whether it is ours. A lost connection ends the turn too."""
    key = (TURN_LOCK + consumer_id,)
    try:
        row = await (await connection.execute(_TAKE_TURN, key)).fetchone()
        is_ours = bool(row and row[0])
        yield is_ours
        if is_ours:
            await connection.execute(_END_TURN, key)
    except BaseException:
        # Whatever it was, a connection that may hold the lock must not go back to the pool.
        await connection.close()
        raise


async def read_target(connection: AsyncConnection, consumer_id: int) -> Target | None:
    """None: it is gone, paused or disabled. Read after the turn was taken: what the one before wrote is seen."""
    async with connection.cursor(row_factory=class_row(Target)) as cursor:
        await cursor.execute(_READ, (consumer_id,))
        return await cursor.fetchone()


async def count_in_flight(connection: AsyncConnection, consumer_id: int) -> int:
    row = await (await connection.execute(_IN_FLIGHT, (consumer_id,))).fetchone()
    return int(row[0]) if row else 0
