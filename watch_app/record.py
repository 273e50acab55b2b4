"""The sweep that keeps numbers over time: flows are folded into steps, and how much waits is written beside them.

One at a time, any number of times: what was folded is gone from `flow` in the same statement.
"""

from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction

from watch_app.models import Measure, Step

LOCK = 7_020
MOST_FOLDED = 50_000
MOST_REMOVED = 10_000
# How long steps are kept; hours as long as the settings say.
KEPT: dict[Step, timedelta] = {
    Step.TEN_SECONDS: timedelta(hours=2),
    Step.MINUTE: timedelta(hours=48),
    Step.TEN_MINUTES: timedelta(days=8),
}

_BIN = "date_bin(make_interval(secs => step), {at}, 'epoch'::timestamptz)"
_STEPS = f"(VALUES {', '.join(f'({step.value})' for step in Step)}) AS steps (step)"
# For its consumer, for its channel, for all; what is of no consumer is for its channel once.
_LEVELS = """
LATERAL (
    SELECT 0::bigint, 0::bigint UNION SELECT {rows}.channel_id, 0 UNION SELECT {rows}.channel_id, {rows}.consumer_id
) AS level (channel_id, consumer_id)
"""
_SUMS = ", ".join(
    f"coalesce(sum(count) FILTER (WHERE measure = {measure.value}), 0) AS {measure.name.lower()}" for measure in Measure
)

_FOLD = f"""
WITH gone AS (
    DELETE FROM flow WHERE id IN (SELECT id FROM flow ORDER BY id LIMIT %s)
    RETURNING at, channel_id, consumer_id, measure, place, count
), fine AS MATERIALIZED (
    SELECT date_bin('10 seconds', at, 'epoch'::timestamptz) AS at, channel_id, consumer_id, measure, place,
           sum(count) AS count
    FROM gone GROUP BY 1, 2, 3, 4, 5
), level_flow AS (
    SELECT step, {_BIN.format(at="fine.at")} AS at, level.channel_id, level.consumer_id, measure, place,
           sum(count) AS count
    FROM fine CROSS JOIN {_STEPS} CROSS JOIN {_LEVELS.format(rows="fine")}
    GROUP BY 1, 2, 3, 4, 5, 6
), folded AS (
    SELECT channel_id, consumer_id, step, at,
           {_SUMS},
           flow_histogram(array_agg(place::int) FILTER (WHERE measure = 2),
                          array_agg(count::int) FILTER (WHERE measure = 2)) AS latency,
           flow_histogram(array_agg(place::int) FILTER (WHERE measure = 5),
                          array_agg(count::int) FILTER (WHERE measure = 5)) AS lag
    FROM level_flow GROUP BY 1, 2, 3, 4
), kept AS (
    INSERT INTO watch_recorded AS kept
        (channel_id, consumer_id, step, at, accepted, delivered, failed, dead, scheduled, retried, latency, lag)
    SELECT channel_id, consumer_id, step, at, accepted, delivered, failed, dead, scheduled, retried, latency, lag
    FROM folded ORDER BY 1, 2, 3, 4
    ON CONFLICT (channel_id, consumer_id, step, at) DO UPDATE SET
        accepted = kept.accepted + excluded.accepted, delivered = kept.delivered + excluded.delivered,
        failed = kept.failed + excluded.failed, dead = kept.dead + excluded.dead,
        scheduled = kept.scheduled + excluded.scheduled, retried = kept.retried + excluded.retried,
        latency = flow_added(kept.latency, excluded.latency), lag = flow_added(kept.lag, excluded.lag)
)
SELECT count(*) FROM gone
"""  # noqa: S608

# As small as the registry. Of those with nothing, only who had something in this step: its row must not stay so.
_STAND = f"""
WITH counted AS (
    SELECT channel_id, consumer_id,
           sum(count) FILTER (WHERE kind = 2 AND status = 1001) AS queued,
           sum(count) FILTER (WHERE kind = 2 AND status = 1002) AS in_flight,
           sum(count) FILTER (WHERE kind = 5) AS letters
    FROM (SELECT kind, channel_id, consumer_id, status, count FROM counter
          UNION ALL SELECT kind, channel_id, consumer_id, status, count FROM counter_delta) AS parts
    WHERE (kind = 2 AND status IN (1001, 1002)) OR (kind = 5 AND status = 1)
    GROUP BY 1, 2
), standing AS MATERIALIZED (
    SELECT level.channel_id, level.consumer_id, coalesce(sum(queued), 0) AS queued,
           coalesce(sum(in_flight), 0) AS in_flight, coalesce(sum(letters), 0) AS letters
    FROM counted CROSS JOIN {_LEVELS.format(rows="counted")} GROUP BY 1, 2
    UNION ALL SELECT 0, 0, 0, 0, 0 WHERE NOT EXISTS (SELECT FROM counted)
)
INSERT INTO watch_recorded AS kept (channel_id, consumer_id, step, at, queued, in_flight, letters)
SELECT channel_id, consumer_id, step, at, queued, in_flight, letters
FROM standing CROSS JOIN {_STEPS} CROSS JOIN LATERAL (SELECT {_BIN.format(at="now()")} AS at) AS begun
WHERE channel_id = 0 OR (queued, in_flight, letters) <> (0, 0, 0) OR EXISTS (
    SELECT FROM watch_recorded r WHERE r.channel_id = standing.channel_id AND r.consumer_id = standing.consumer_id
       AND r.step = steps.step AND r.at = begun.at
)
ORDER BY 1, 2, 3, 4
ON CONFLICT (channel_id, consumer_id, step, at) DO UPDATE SET
    queued = excluded.queued, in_flight = excluded.in_flight, letters = excluded.letters
"""  # noqa: S608

# In the order of the index watch_recorded_by_age.
_REMOVE = """
DELETE FROM watch_recorded WHERE (channel_id, consumer_id, step, at) IN (
    SELECT channel_id, consumer_id, step, at FROM watch_recorded
    WHERE step = %s AND at < now() - make_interval(secs => %s) ORDER BY at LIMIT %s
)
"""


def record() -> int:
    """How many flows were folded."""
    folded = 0
    while some := _record_some():
        folded += some
        if some < MOST_FOLDED:
            break
    return folded


def remove_old() -> int:
    """A batch of each step; the next run goes on."""
    kept = {**KEPT, Step.HOUR: timedelta(days=settings.WATCH_RETENTION_DAYS)}
    with connection.cursor() as cursor:
        removed = 0
        for step, age in kept.items():
            cursor.execute(_REMOVE, [step, age.total_seconds(), MOST_REMOVED])
            removed += cursor.rowcount
    return removed


def _record_some() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_FOLD, [MOST_FOLDED])
        folded = int(cursor.fetchone()[0])
        cursor.execute(_STAND)
    return folded
