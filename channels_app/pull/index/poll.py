"""A poll: the next messages by index become INFLIGHT jobs without a lease, and `sent` moves behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg import AsyncConnection
from psycopg.rows import args_row

from channels_app.pull.index.places import IS_OVER, Place, bury_over, hold, keep, look, pass_over_dead
from channels_app.pull.index.window import Nothing, Window

MOST_BYTES = 8 * 1024 * 1024

# Everything after `sent` gets a job that has none: the consumer came later, or was disabled. What `from` leaps over
# stays QUEUED, so that `acked` stops before it. The batch ends at its bytes, the message that reaches them included.
_TAKE = f"""
WITH asked AS MATERIALIZED (
    SELECT id, sequence, priority, partition, octet_length(payload) AS size, expunged_at IS NULL AS is_there,
           received_at, ttl_seconds
    FROM message WHERE channel_id = %(channel)s AND sequence > %(sent)s AND sequence <= %(until)s
    ORDER BY sequence LIMIT greatest(0, %(until)s - %(sent)s)
), had AS MATERIALIZED (
    SELECT j.id, j.message_id, j.status, j.has_ttl, j.expires_at FROM asked
    JOIN delivery_job j ON j.message_id = asked.id AND j.consumer_id = %(consumer)s ORDER BY j.id FOR UPDATE OF j
), judged AS (
    SELECT m.*, j.id AS job_id,
           is_there AND sequence > %(after)s AND j.status IS DISTINCT FROM 1004 AND NOT {IS_OVER} AS is_taken
    FROM asked m LEFT JOIN had j ON j.message_id = m.id
), measured AS MATERIALIZED (
    SELECT *, sum(size) FILTER (WHERE is_taken) OVER (ORDER BY sequence ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)
              AS before FROM judged
), bound AS (
    SELECT coalesce(min(sequence) - 1, %(until)s) AS sent FROM measured WHERE is_taken AND before >= %(bytes)s
), fits AS MATERIALIZED (
    SELECT measured.* FROM measured, bound WHERE sequence <= bound.sent
), made AS (
    INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, status, attempt, received_at,
                              expires_at, has_ttl)
    SELECT fits.id, channel.id, %(consumer)s, fits.priority, fits.partition,
           CASE WHEN is_taken THEN 1002 ELSE 1001 END, is_taken::int, CASE WHEN is_taken THEN now() END,
           least(now() + make_interval(secs => channel.max_age_seconds),
                 received_at + make_interval(secs => ttl_seconds)),
           nullif(ttl_seconds IS NOT NULL, false)
    FROM fits JOIN channel ON channel.id = %(channel)s WHERE job_id IS NULL AND is_there ORDER BY sequence
    RETURNING id, message_id, attempt
), moved AS (
    UPDATE delivery_job j SET status = 1002, attempt = j.attempt + 1, received_at = now(), lease_until = NULL,
           next_attempt_at = NULL, started_at = NULL, device_id = NULL, device_started_at = NULL,
           device_completed_at = NULL, reason = NULL, status_changed_at = now()
    FROM fits WHERE j.id = fits.job_id AND fits.is_taken
    RETURNING j.id, j.message_id, j.attempt
), taken AS (
    SELECT * FROM moved UNION ALL SELECT * FROM made WHERE attempt > 0
)
SELECT bound.sent, m.sequence, taken.id, taken.attempt, m.priority, m.message_id, m.payload, m.content_type, m.headers,
       m.received_at
FROM bound LEFT JOIN (taken JOIN message m ON m.id = taken.message_id) ON true ORDER BY m.sequence
"""  # noqa: S608


@dataclass(frozen=True)
class Item:
    """A message with the job that it is for this consumer; without one, if it never was handed out."""

    index: int
    job_id: int | None
    attempt: int
    priority: int
    message_id: str
    payload: bytes
    content_type: str
    headers: dict[str, str]
    published_at: datetime


@dataclass(frozen=True)
class Polled:
    """What was handed out, where the consumer stands now, and why there is nothing."""

    items: Sequence[Item]
    place: Place
    reason: Nothing | None


async def poll(connection: AsyncConnection, consumer_id: int, *, start: int | None, limit: int) -> Polled:
    """Without a `start`: from what was sent last."""
    async with connection.transaction():
        place = await hold(connection, consumer_id)
        if place.stopped is None:
            place = await _past_the_dead(connection, place)
        window = Window(place, place.sent if start is None else start, limit)
        items: Sequence[Item] = []
        if not window.is_empty:
            sent, items = await _take(connection, window)
            if sent - window.place.sent > len(items):
                await bury_over(connection, window.place, until=sent)
            window = replace(window, place=await _behind(connection, window, sent))
        await keep(connection, window.place)
    return Polled(items, window.place, None if items else window.why_nothing())


async def _past_the_dead(connection: AsyncConnection, place: Place) -> Place:
    passed = await pass_over_dead(connection, place)
    if passed.sent > place.sent:
        await bury_over(connection, place, until=passed.sent)
    return passed


async def _take(connection: AsyncConnection, window: Window) -> tuple[int, list[Item]]:
    place = window.place
    asked = {**place.ids, "sent": place.sent, "after": window.after, "until": window.until, "bytes": MOST_BYTES}
    async with connection.cursor(row_factory=args_row(_row)) as cursor:
        await cursor.execute(_TAKE, asked)
        rows = await cursor.fetchall()
    return rows[0][0], [item for _, item in rows if item is not None]


async def _behind(connection: AsyncConnection, window: Window, sent: int) -> Place:
    """Where the consumer stands after that. What `from` leaps over may be done already, from before a seek."""
    place = replace(window.place, sent=sent)
    if window.after == window.place.sent:
        return place
    await keep(connection, place)
    return await look(connection, place.consumer_id)


def _row(sent: int, index: int | None, *columns: object) -> tuple[int, Item | None]:
    return sent, None if index is None else Item(index, *columns)  # type: ignore[arg-type]
