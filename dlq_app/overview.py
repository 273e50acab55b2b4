"""How the open letters stand: by whom, by age. No question reads more than a part of them, however many."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import connection

from channels_app.models import CounterKind
from dlq_app.filters import LetterFilter
from dlq_app.models.dead_letter import LetterStatus

MOST_CONSUMERS = 20
HOURS = 24
# A stretch of time with more is not counted: how far its ids reach tells about how many.
MOST_COUNTED = 1_000

# As small as the registry, however many letters there are.
_OPEN = """
SELECT channel_id, consumer_id, reason, sum(count)::bigint AS count
FROM (SELECT kind, channel_id, consumer_id, status, reason, count FROM counter
      UNION ALL SELECT kind, channel_id, consumer_id, status, reason, count FROM counter_delta) AS counted
WHERE kind = %(kind)s AND status = %(open)s
  AND (%(channel)s::bigint IS NULL OR channel_id = %(channel)s::bigint)
  AND (%(consumer)s::bigint IS NULL OR consumer_id = %(consumer)s::bigint)
  AND (%(reason)s::text IS NULL OR reason = %(reason)s::text)
GROUP BY channel_id, consumer_id, reason HAVING sum(count) > 0
"""
_HOLDERS = f"""
WITH open AS MATERIALIZED ({_OPEN})
SELECT open.channel_id, channel.public_id, open.consumer_id, consumer.public_id, sum(open.count)::bigint AS letters,
       (SELECT sum(count)::bigint FROM open) AS total
FROM open JOIN channel ON channel.id = open.channel_id JOIN consumer ON consumer.id = open.consumer_id
GROUP BY 1, 2, 3, 4 ORDER BY letters DESC, 3 LIMIT {MOST_CONSUMERS}
"""  # noqa: S608
_TOTALS = f"""
SELECT open.reason, open.channel_id, channel.public_id, sum(open.count)::bigint AS letters
FROM ({_OPEN}) AS open JOIN channel ON channel.id = open.channel_id
GROUP BY GROUPING SETS ((open.reason), (open.channel_id, channel.public_id)) ORDER BY letters DESC, 1, 3
"""  # noqa: S608
# By the index on time. The ids of letters rise as they enter.
_SPANS = f"""
SELECT counted.count, last.id - first.id + 1
FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[]) WITH ORDINALITY AS span (since, until, place)
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1 FROM dead_letter
        WHERE resolution IS NULL AND entered_at >= since AND entered_at < until LIMIT {MOST_COUNTED}
    ) AS found
) AS counted
LEFT JOIN LATERAL (
    SELECT id FROM dead_letter WHERE resolution IS NULL AND entered_at >= since AND entered_at < until
    ORDER BY entered_at LIMIT 1
) AS first ON counted.count >= {MOST_COUNTED}
LEFT JOIN LATERAL (
    SELECT id FROM dead_letter WHERE resolution IS NULL AND entered_at >= since AND entered_at < until
    ORDER BY entered_at DESC LIMIT 1
) AS last ON counted.count >= {MOST_COUNTED}
ORDER BY place
"""  # noqa: S608
_EVER = timedelta(days=365 * 100)


@dataclass(frozen=True)
class Holder:
    """A consumer with open letters."""

    channel_id: int
    channel: str
    consumer_id: int
    consumer: str
    count: int


@dataclass(frozen=True)
class Holders:
    """The consumers with the most, and how many letters are open in all."""

    first: list[Holder]
    total: int


@dataclass(frozen=True)
class Total:
    """Open letters of a reason, or of a channel. `key` is what a list is filtered by."""

    name: str
    key: str | int
    count: int


@dataclass(frozen=True)
class Totals:
    reasons: list[Total]
    channels: list[Total]


@dataclass(frozen=True)
class Span:
    """Open letters that entered in a stretch of time; `is_about`: too many to be counted."""

    since: datetime
    until: datetime
    count: int
    is_about: bool


def holders() -> Holders:
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, _counted(LetterFilter()))
        rows = cursor.fetchall()
    return Holders([Holder(*row[:-1]) for row in rows], rows[0][-1] if rows else 0)


def totals() -> Totals:
    """From counters, so of all of them; the biggest first."""
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS, _counted(LetterFilter()))
        rows = cursor.fetchall()
    return Totals(
        reasons=[Total(reason, reason, count) for reason, channel, _, count in rows if channel is None],
        channels=[Total(name, channel, count) for _, channel, name, count in rows if channel is not None],
    )


def counted(meant: LetterFilter) -> int:
    """How many are open, from counters: they know channel, consumer and reason, and nothing else."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(sum(count), 0)::bigint FROM ({_OPEN}) AS open", _counted(meant))  # noqa: S608
        return int(cursor.fetchone()[0])


def _counted(meant: LetterFilter) -> dict[str, int | str | None]:
    named = {"channel": meant.channel_id, "consumer": meant.consumer_id, "reason": meant.reason}
    return {"kind": CounterKind.DEAD_LETTER, "open": LetterStatus.OPEN, **named}


def growth_and_age(now: datetime) -> tuple[list[Span], list[Span]]:
    """By the hour in which they entered, oldest hour first; and by age: an hour, a day, a week, more. One question."""
    since = now - timedelta(hours=HOURS)
    hours = [(since + timedelta(hours=hour), since + timedelta(hours=hour + 1)) for hour in range(HOURS)]
    ends = [timedelta(0), timedelta(hours=1), timedelta(days=1), timedelta(days=7), _EVER]
    ages = [(now - old, now - young) for young, old in pairwise(ends)]
    # Who entered meanwhile is young too.
    ages[0], hours[-1] = (ages[0][0], now + _EVER), (hours[-1][0], now + _EVER)
    spans = _spans([*hours, *ages])
    return spans[:HOURS], spans[HOURS:]


def _spans(asked: list[tuple[datetime, datetime]]) -> list[Span]:
    with connection.cursor() as cursor:
        cursor.execute(_SPANS, {"since": [since for since, _ in asked], "until": [until for _, until in asked]})
        rows = cursor.fetchall()
    return [
        Span(since, until, reach or count, reach is not None)
        for (since, until), (count, reach) in zip(asked, rows, strict=True)
    ]
