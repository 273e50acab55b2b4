"""How consumers that acknowledge want to be tried again, and what kind each is."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.pg_arrays import Bigints
from channels_app.delivery.retry import Policy

POLICIES = """
SELECT k.id, k.public_id, c.public_id, k.type, k.callback_url <> '', k.max_attempts,
       coalesce(k.retries, c.retries), coalesce(k.retry_initial_seconds, c.retry_initial_seconds),
       coalesce(k.retry_factor, c.retry_factor), coalesce(k.retry_ceiling_seconds, c.retry_ceiling_seconds),
       coalesce(k.retry_jitter, c.retry_jitter), coalesce(k.non_retriable, c.non_retriable)
FROM consumer k JOIN channel c ON c.id = k.channel_id WHERE k.id = ANY(%(consumers)s)
"""
# As many as the column of failures can count.
NO_END = 2**31 - 1


@dataclass(frozen=True)
class Acker:
    """A consumer as the end of an attempt needs it."""

    consumer_id: int
    consumer: str
    channel: str
    type: str
    has_url: bool
    max_attempts: int | None
    retries: int
    initial_seconds: float
    factor: float
    ceiling_seconds: float
    jitter: str
    non_retriable: list[str]

    @property
    def is_push(self) -> bool:
        return self.type == "push"

    @property
    def is_queue(self) -> bool:
        return self.max_attempts is not None

    @property
    def tries(self) -> int:
        """How many an item of it has in all."""
        return self.retries + 1 if self.max_attempts is None else self.max_attempts or NO_END

    @cached_property
    def policy(self) -> Policy:
        if self.is_queue:
            return Policy(self.tries - 1, 0.0, 1.0, 0.0, "none", frozenset())
        return Policy(
            self.retries,
            self.initial_seconds,
            self.factor,
            self.ceiling_seconds,
            self.jitter,
            frozenset(self.non_retriable),
        )


async def read_ackers(connection: AsyncConnection, consumer_ids: Collection[int]) -> dict[int, Acker]:
    async with connection.cursor(row_factory=args_row(Acker)) as cursor:
        await cursor.execute(POLICIES, {"consumers": Bigints(list(consumer_ids))})
        return {acker.consumer_id: acker for acker in await cursor.fetchall()}
