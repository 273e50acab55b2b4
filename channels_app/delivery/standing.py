"""How a consumer stands with the engine: its slots, its rate, its breaker, whether it wants more at all."""

from collections.abc import Iterable, Mapping, Sequence

from psycopg import AsyncConnection

from channels_app.delivery.breaker import OPEN_SECONDS, Breaker

_DISABLE = """
UPDATE consumer_state SET disabled_at = now(), disabled_reason = 'gone'
WHERE consumer_id = ANY(%s) AND disabled_at IS NULL
"""
_KEEP = """
UPDATE consumer_state SET slots = %(slots)s, rate_tokens = %(tokens)s, rate_at = clock_timestamp()
WHERE consumer_id = %(consumer)s
"""
# Open while the one job that was let through is out: nobody sends a second.
_PROBE = """
UPDATE consumer_state SET breaker_until = now() + make_interval(secs => %s)
WHERE consumer_id = %s AND breaker_until <= now()
"""
_HOLD = """
SELECT consumer_id, streak, streak_jobs, breaker_until IS NOT NULL FROM consumer_state
WHERE consumer_id = ANY(%s) ORDER BY consumer_id FOR UPDATE
"""
_COUNT = """
UPDATE consumer_state SET streak = %(streak)s, streak_jobs = %(jobs)s,
       breaker_opened_at = CASE WHEN %(open)s THEN coalesce(breaker_opened_at, now()) END,
       breaker_until = CASE WHEN %(open)s THEN now() + make_interval(secs => %(seconds)s) END
WHERE consumer_id = %(consumer)s
"""

# Of one consumer: the jobs and whether it took them, in the order in which the tries ended.
Tries = Sequence[tuple[int, bool]]


async def disable(connection: AsyncConnection, consumer_ids: Iterable[int]) -> None:
    """A consumer that answered 410 asks for no more."""
    await connection.execute(_DISABLE, (list(consumer_ids),))


async def keep(connection: AsyncConnection, consumer_id: int, *, slots: int, tokens: float | None) -> None:
    await connection.execute(_KEEP, {"consumer": consumer_id, "slots": slots, "tokens": tokens})


async def hold_for_probe(connection: AsyncConnection, consumer_id: int, *, seconds: float) -> None:
    await connection.execute(_PROBE, (seconds, consumer_id))


async def count_tries(connection: AsyncConnection, tries: Mapping[int, Tries]) -> dict[int, tuple[Breaker, Breaker]]:
    """Moves the breakers of these consumers; returns each as it was and as it is."""
    moved = {}
    async with connection.transaction(), connection.cursor() as cursor:
        await cursor.execute(_HOLD, (list(tries),))
        for consumer_id, streak, jobs, is_open in await cursor.fetchall():
            before = Breaker(streak, tuple(jobs), is_open)
            moved[consumer_id] = (before, before.after(tries[consumer_id]))
        await cursor.executemany(
            _COUNT,
            [
                {"consumer": k, "streak": b.streak, "jobs": list(b.jobs), "open": b.is_open, "seconds": OPEN_SECONDS}
                for k, (_, b) in moved.items()
            ],
        )
    return moved
