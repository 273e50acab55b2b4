"""Numbers over time, of all, of a channel or of a consumer: what was recorded, and what has flowed since."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from django.db import connection

from watch_app.histogram import added, percentiles
from watch_app.models import Step
from watch_app.values import Point, Scope, Series, Span, Totals

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# How long each is, and the step of its picture: a few hundred points at the most.
RANGES: dict[str, tuple[timedelta, timedelta]] = {
    "5m": (5 * _MINUTE, timedelta(seconds=10)),
    "15m": (15 * _MINUTE, timedelta(seconds=10)),
    "1h": (_HOUR, timedelta(seconds=10)),
    "6h": (6 * _HOUR, _MINUTE),
    "24h": (_DAY, 10 * _MINUTE),
    "48h": (2 * _DAY, 10 * _MINUTE),
    "7d": (7 * _DAY, _HOUR),
    "30d": (30 * _DAY, 2 * _HOUR),
}
# A sweep that has not run for long leaves more: then the newest are read, and the rest is shown when it is back.
MOST_FLOWS = 50_000

# Of a step is known how many stood at its end: the first look is the step that ends first, a short one where recording
# has only begun. In it whoever has no row had none.
_FIRST_LETTERS = """
SELECT coalesce((
    SELECT letters FROM watch_recorded AS mine
    WHERE channel_id = %(channel)s AND consumer_id = %(consumer)s AND mine.step = look.step AND mine.at = look.at
), 0) FROM (
    SELECT steps.step, began.at FROM unnest(%(steps)s::int[]) AS steps (step) CROSS JOIN LATERAL (
        SELECT at FROM watch_recorded
        WHERE channel_id = 0 AND consumer_id = 0 AND step = steps.step AND at >= %(start)s AND at < %(end)s
          AND letters IS NOT NULL
        ORDER BY channel_id, consumer_id, step, at LIMIT 1
    ) AS began ORDER BY began.at + make_interval(secs => steps.step), steps.step LIMIT 1
) AS look
"""
# All rows have the same columns, so that whatever belongs to a step is added up. A consumer has its channel's share of
# what came in; a step in which the sweep ran is one of zeros to whoever has no row in it.
_ROWS = f"""
SELECT extract(epoch FROM at)::bigint, accepted, delivered, failed, dead, scheduled, retried, latency, lag,
       queued, in_flight, letters, ({_FIRST_LETTERS}) FROM (
SELECT at, accepted, delivered, failed, dead, scheduled, retried, latency, lag, queued, in_flight, letters
FROM watch_recorded
WHERE channel_id = %(channel)s AND consumer_id = %(consumer)s AND step = %(step)s AND at >= %(start)s AND at < %(end)s
UNION ALL
SELECT at, accepted, 0, 0, 0, scheduled, 0, '{{}}', lag, NULL, NULL, NULL FROM watch_recorded
WHERE %(consumer)s <> 0 AND channel_id = %(channel)s AND consumer_id = 0
  AND step = %(step)s AND at >= %(start)s AND at < %(end)s
UNION ALL
SELECT at, 0, 0, 0, 0, 0, 0, '{{}}', '{{}}', queued * 0, in_flight * 0, letters * 0 FROM watch_recorded
WHERE %(channel)s <> 0 AND channel_id = 0 AND consumer_id = 0
  AND step = %(step)s AND at >= %(start)s AND at < %(end)s
UNION ALL
SELECT at, CASE measure WHEN 1 THEN count ELSE 0 END, CASE measure WHEN 2 THEN count ELSE 0 END,
       CASE measure WHEN 3 THEN count ELSE 0 END, CASE measure WHEN 4 THEN count ELSE 0 END,
       CASE measure WHEN 5 THEN count ELSE 0 END, CASE measure WHEN 6 THEN count ELSE 0 END,
       CASE measure WHEN 2 THEN array_fill(0, ARRAY[place::int]) || count::int ELSE '{{}}' END,
       CASE measure WHEN 5 THEN array_fill(0, ARRAY[place::int]) || count::int ELSE '{{}}' END, NULL, NULL, NULL
FROM (
    SELECT date_bin(make_interval(secs => %(step)s), at, 'epoch'::timestamptz) AS at, measure, place,
           sum(count)::bigint AS count
    FROM (SELECT * FROM flow ORDER BY id DESC LIMIT {MOST_FLOWS}) AS newest
    WHERE at >= %(start)s AND at < %(end)s AND %(channel)s IN (0, channel_id)
      AND (%(consumer)s = 0 OR consumer_id IN (0, %(consumer)s))
    GROUP BY 1, 2, 3
) AS flowed
UNION ALL
SELECT date_bin(make_interval(secs => %(step)s), now(), 'epoch'::timestamptz), sum(count)::bigint, 0, 0, 0, 0, 0,
       '{{}}', '{{}}', NULL, NULL, NULL
FROM (SELECT channel_id, count FROM counter WHERE kind = 1 AND status = 100
      UNION ALL SELECT channel_id, count FROM counter_delta WHERE kind = 1 AND status = 100) AS waiting
WHERE %(channel)s IN (0, channel_id) AND now() >= %(start)s AND now() < %(end)s HAVING sum(count) > 0
) AS told ORDER BY 1
"""  # noqa: S608


def span_of(words: str, now: datetime) -> Span:
    """One of RANGES, up to the end of the step that has begun. Other words are a KeyError."""
    length, step = RANGES[words]
    end = floor(now, step) + step
    return Span(end - length, end, step)


def floor(at: datetime, step: timedelta) -> datetime:
    """The step that a moment is in; steps are counted from 1970."""
    return at - (at - _EPOCH) % step


def series(scope: Scope, span: Span) -> Series:
    """A step of which nothing was recorded has no point. The last one has what is stored and not fanned out yet."""
    return since(scope, span.start, span)


def since(scope: Scope, after: datetime, span: Span) -> Series:
    """Only the points of steps that begin at this time or after it; totals are of the whole span."""
    rows = _read(scope, span)
    step = int(span.step.total_seconds())
    first = -(-after.timestamp() // step) * step
    by_step = groupby((row for row in rows if row[0] >= first), key=lambda row: row[0] - row[0] % step)
    points = [_point(at, list(same)) for at, same in by_step]
    return Series(span, points, Totals(*_sums(rows)), rows[0][-1] if rows else None)


def _point(at: int, rows: Sequence[Sequence[Any]]) -> Point:
    """What waits is what waited at last, of whoever wrote then."""
    at_last = [row[9:12] for row in rows if row[0] == rows[-1][0]]
    standing = map(_sum_of_known, zip(*at_last, strict=True))
    return Point(datetime.fromtimestamp(at, UTC), *_sums(rows), *standing)


def _sums(rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Six counts and two spreads, as points and totals have them. By column: there are hundreds of rows."""
    columns = list(zip(*rows, strict=True)) or [()] * 9
    return *map(sum, columns[1:7]), *(percentiles(added(*several)) for several in columns[7:9])


def _sum_of_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _read(scope: Scope, span: Span) -> list[tuple[Any, ...]]:
    """In one statement: what is folded meanwhile is seen once."""
    step = max(step for step in Step if not span.step % timedelta(seconds=step))
    told: dict[str, Any] = {
        "channel": scope.channel_id,
        "consumer": scope.consumer_id,
        "step": step.value,
        "steps": [one.value for one in Step if one <= step],
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, {**told, "start": span.start, "end": span.end})
        return cursor.fetchall()
