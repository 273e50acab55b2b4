"""What measures the numbers of consumers, of scheduled messages and of the broker's parts: one statement each."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from broker_project.lib.bound import fetch
from channels_app.alerts.values import Measured, Rule, Subject

# What has to do something now and then.
PARTS = ["beat", "dispatch", "delivery"]

# Only consumers that have something waiting are looked at: the next in line, and the oldest of the lowest priority,
# which waits longest. A disabled one has an alert of its own.
_WAITING = """
WITH waiting AS MATERIALIZED (
    SELECT consumer_id FROM (
        SELECT consumer_id, count FROM counter WHERE kind = 2 AND status = 1001
        UNION ALL SELECT consumer_id, count FROM counter_delta WHERE kind = 2 AND status = 1001) AS parts
    GROUP BY consumer_id HAVING sum(count) > 0
), oldest AS (
    SELECT k.channel_id, k.id, extract(epoch FROM %(now)s::timestamptz - least(next.created_at, last.created_at)) AS age
    FROM waiting JOIN consumer k ON k.id = waiting.consumer_id AND k.deleted_at IS NULL
    JOIN consumer_state s ON s.consumer_id = k.id AND s.disabled_at IS NULL
    CROSS JOIN LATERAL (
        SELECT created_at FROM delivery_job
        WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL ORDER BY priority DESC, id LIMIT 1
    ) AS next CROSS JOIN LATERAL (
        SELECT created_at FROM delivery_job
        WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL AND priority = (
            SELECT priority FROM delivery_job WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL
            ORDER BY priority LIMIT 1)
        ORDER BY id LIMIT 1
    ) AS last
)
SELECT channel_id, id, age::float8 FROM oldest WHERE age > %(least)s::float8
"""
_DISABLED = """
SELECT k.channel_id, k.id, extract(epoch FROM %(now)s::timestamptz - s.disabled_at)::float8
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id
WHERE s.disabled_at IS NOT NULL AND k.deleted_at IS NULL
"""
# Open and probed again and again counts from when it first opened; one that is switched off stops nothing.
_BREAKER = """
SELECT k.channel_id, k.id, extract(epoch FROM %(now)s::timestamptz - s.breaker_opened_at)::float8
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id
WHERE s.breaker_opened_at IS NOT NULL AND s.disabled_at IS NULL AND k.circuit_breaker AND k.deleted_at IS NULL
"""
# The first of each partition, by skipping along the index, where counters know of any. A channel that releases at a
# rate of its own is late because it was told to be.
_LAG = """
WITH waiting AS MATERIALIZED (
    SELECT channel_id FROM (
        SELECT channel_id, count FROM counter WHERE kind = 3 AND status = 100
        UNION ALL SELECT channel_id, count FROM counter_delta WHERE kind = 3 AND status = 100) AS parts
    JOIN channel c ON c.id = channel_id WHERE c.deleted_at IS NULL AND c.release_per_second IS NULL
    GROUP BY channel_id HAVING sum(count) > 0
), late AS (
    SELECT waiting.channel_id, (
        WITH RECURSIVE first AS (
            (SELECT partition, due_at FROM scheduled_message WHERE channel_id = waiting.channel_id AND status = 100
             ORDER BY partition, due_at LIMIT 1)
            UNION ALL
            SELECT following.* FROM first CROSS JOIN LATERAL (
                SELECT s.partition, s.due_at FROM scheduled_message s
                WHERE s.channel_id = waiting.channel_id AND s.status = 100 AND s.partition > first.partition
                ORDER BY s.partition, s.due_at LIMIT 1
            ) AS following
        )
        SELECT extract(epoch FROM %(now)s::timestamptz - min(due_at)) FROM first
    ) AS seconds FROM waiting
)
SELECT channel_id, seconds::float8 FROM late WHERE seconds > %(least)s::float8
"""
# Of the minutes that began in the last five. One that has an alert and no tries, as while its breaker is open, is not
# known to be better.
_RATE = """
WITH tried AS (
    SELECT consumer_id, sum(delivered) AS delivered, sum(delivered + failed) AS tries
    FROM watch_recorded
    WHERE step = 60 AND at > %(now)s::timestamptz - interval '5 minutes' AND consumer_id > 0
    GROUP BY consumer_id HAVING sum(delivered + failed) > 0
), rate AS (
    SELECT consumer_id, 100.0 * delivered / tries AS value, tries FROM tried
    UNION ALL
    SELECT consumer_id, NULL, 0 FROM alert
    WHERE ended_at IS NULL AND kind = 'success_rate' AND consumer_id NOT IN (SELECT consumer_id FROM tried)
)
SELECT k.channel_id, k.id, rate.value::float8, rate.tries::bigint
FROM rate JOIN consumer k ON k.id = rate.consumer_id AND k.deleted_at IS NULL
WHERE rate.value IS NULL OR rate.value < %(most)s::float8
"""
# One that has never done anything has stood still since the database was made.
_PROGRESS = """
SELECT part, extract(
    epoch FROM %(now)s::timestamptz - coalesce(p.at, (SELECT min(applied) FROM django_migrations))
)::float8
FROM unnest(%(parts)s::text[]) AS part LEFT JOIN progress p ON p.name = part
"""


def oldest_waiting(rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    for channel_id, consumer_id, seconds in fetch(_WAITING, {"now": now, "least": _least(rules)}):
        yield Measured(Subject(channel_id, consumer_id), seconds)


def disabled(_rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    for channel_id, consumer_id, seconds in fetch(_DISABLED, {"now": now}):
        yield Measured(Subject(channel_id, consumer_id), seconds)


def breaker_open(_rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    for channel_id, consumer_id, seconds in fetch(_BREAKER, {"now": now}):
        yield Measured(Subject(channel_id, consumer_id), seconds)


def schedule_lag(rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    for channel_id, seconds in fetch(_LAG, {"now": now, "least": _least(rules)}):
        yield Measured(Subject(channel_id), seconds)


def success_rate(rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    most = max(rule.threshold for rule in rules)
    for channel_id, consumer_id, percent, tries in fetch(_RATE, {"now": now, "most": most}):
        yield Measured(Subject(channel_id, consumer_id), percent, tries)


def no_progress(_rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    for part, seconds in fetch(_PROGRESS, {"now": now, "parts": PARTS}):
        yield Measured(Subject(part=part), seconds)


def _least(rules: Sequence[Rule]) -> float:
    return min(rule.threshold for rule in rules)
