"""Whether the counters say what the rows say, and how they are put right again.

One statement sees one snapshot: rows, folded counts and deltas of the same commits, however busy the tables are. What
differs there differs for good. The correction is a delta of just the difference, so that whatever is committed
meanwhile, with deltas of its own, and the folding of deltas, stay right.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection, models, transaction

from channels_app.models import CounterKind, JobStatus, MessageStatus

# Two corrections of the same difference would be one too many.
REPAIR_LOCK = 7011
MOST_SHOWN = 1_000

NAMES: dict[CounterKind, type[models.IntegerChoices]] = {
    CounterKind.MESSAGE: MessageStatus,
    CounterKind.JOB: JobStatus,
    CounterKind.JOB_BY_PARTITION: JobStatus,
}
# What is counted, by kind; an app with rows of its own adds them.
COUNTED = [
    """
    SELECT 1::smallint AS kind, channel_id, 0::bigint AS consumer_id, status, '' AS reason, count(*) AS count
    FROM message GROUP BY channel_id, status
    """,
    """
    SELECT 2::smallint, channel_id, consumer_id, status, coalesce(reason, ''), count(*)
    FROM delivery_job GROUP BY channel_id, consumer_id, status, coalesce(reason, '')
    """,
    """
    SELECT 4::smallint, channel_id, partition::bigint, status, '', count(*)
    FROM delivery_job WHERE partition <> 0 GROUP BY channel_id, partition, status
    """,
]
_DIFFERENCES = """
WITH kept AS (
    SELECT kind, channel_id, consumer_id, status, reason, sum(count)::bigint AS count
    FROM (SELECT kind, channel_id, consumer_id, status, reason, count FROM counter
          UNION ALL SELECT kind, channel_id, consumer_id, status, reason, count FROM counter_delta) AS parts
    GROUP BY kind, channel_id, consumer_id, status, reason
), counted AS (
    {counted}
), difference AS MATERIALIZED (
    SELECT kind, channel_id, consumer_id, status, reason,
           coalesce(kept.count, 0) AS kept, coalesce(counted.count, 0) AS counted
    FROM kept FULL JOIN counted USING (kind, channel_id, consumer_id, status, reason)
    WHERE coalesce(kept.count, 0) <> coalesce(counted.count, 0)
)
"""
_CORRECTED = """
, corrected AS (
    INSERT INTO counter_delta (kind, channel_id, consumer_id, status, reason, count)
    SELECT kind, channel_id, consumer_id, status, reason, counted - kept FROM difference
)
"""
_SHOW = """
SELECT d.kind, coalesce(channel.public_id, d.channel_id::text), coalesce(consumer.public_id, ''), d.status, d.reason,
       d.kept, d.counted, count(*) OVER ()
FROM difference d LEFT JOIN channel ON channel.id = d.channel_id
LEFT JOIN consumer ON consumer.id = d.consumer_id AND d.kind = 2
ORDER BY d.kind, d.channel_id, d.consumer_id, d.status, d.reason LIMIT %s
"""


@dataclass(frozen=True)
class Difference:
    """What the counters keep, and what counting the rows comes to."""

    kind: CounterKind
    channel: str
    consumer: str
    status: str
    reason: str
    kept: int
    counted: int


@dataclass(frozen=True)
class Checked:
    """The first differences, and how many there are."""

    shown: list[Difference]
    total: int


def check() -> Checked:
    return _look(_differences() + _SHOW)


def repair() -> Checked:
    """Corrects what differs, and says what did."""
    return _look(_differences() + _CORRECTED + _SHOW)


def _differences() -> str:
    return _DIFFERENCES.format(counted=" UNION ALL ".join(COUNTED))


def _look(statement: str) -> Checked:
    with transaction.atomic(), connection.cursor() as cursor:
        # Counting millions of rows may take longer than any request should.
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        # A statement of its own: the next one's snapshot is taken when it is our turn.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REPAIR_LOCK])
        cursor.execute(statement, [MOST_SHOWN])
        rows = cursor.fetchall()
    return Checked([_difference(row) for row in rows], rows[0][-1] if rows else 0)


def _difference(row: tuple[Any, ...]) -> Difference:
    kind, channel, consumer, status, reason, kept, counted, _ = row
    names = NAMES[CounterKind(kind)]
    name = names(status).name if status in names.values else str(status)
    return Difference(CounterKind(kind), channel, consumer, name, reason, kept, counted)
