"""What alerts ask of dead letters: the thresholds that channels' policies set, how deep, and how old."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from broker_project.lib.bound import fetch
from channels_app.alerts.values import Measured, Rule, Subject
from channels_app.models import AlertKind
from dlq_app.models import DeadLetterPolicy

POLICY = "Dead letter policy"

# Counters, so of all letters, however many. Of consumers only those that a rule names.
_DEPTH = """
WITH parts AS (
    SELECT channel_id, consumer_id, count FROM counter WHERE kind = 5 AND status = 1
    UNION ALL SELECT channel_id, consumer_id, count FROM counter_delta WHERE kind = 5 AND status = 1
), depth AS (
    SELECT channel_id, NULL::bigint AS consumer_id, sum(count) AS value FROM parts GROUP BY channel_id
    UNION ALL
    SELECT channel_id, consumer_id, sum(count) FROM parts
    WHERE consumer_id = ANY(%(consumers)s::bigint[]) GROUP BY channel_id, consumer_id
)
SELECT depth.channel_id, depth.consumer_id, depth.value::float8
FROM depth JOIN channel c ON c.id = depth.channel_id LEFT JOIN consumer k ON k.id = depth.consumer_id
WHERE c.deleted_at IS NULL AND k.deleted_at IS NULL AND depth.value > %(least)s::float8
"""
# The oldest is one probe of an index in each channel that has letters: they are numbered as they enter. BETWEEN: see
# retention.py.
_AGE = """
WITH held AS MATERIALIZED (
    SELECT channel_id FROM (
        SELECT channel_id, count FROM counter WHERE kind = 5 AND status = 1
        UNION ALL SELECT channel_id, count FROM counter_delta WHERE kind = 5 AND status = 1) AS parts
    JOIN channel c ON c.id = channel_id
    WHERE c.deleted_at IS NULL AND (%(all)s::bool OR channel_id = ANY(%(channels)s::bigint[]))
    GROUP BY channel_id HAVING sum(count) > 0
)
SELECT held.channel_id, extract(epoch FROM %(now)s::timestamptz - oldest.entered_at)::float8
FROM held CROSS JOIN LATERAL (
    SELECT entered_at FROM dead_letter l
    WHERE l.channel_id BETWEEN held.channel_id AND held.channel_id AND l.resolution IS NULL
    ORDER BY l.channel_id, l.id LIMIT 1
) AS oldest
"""


def policy_rules() -> Iterator[Rule]:
    """A channel's own thresholds, which stand before the rules for all. They begin and end at once."""
    rows = DeadLetterPolicy.objects.values_list("channel_id", "alert_depth", "alert_age_seconds")
    for channel_id, depth, age in rows.order_by("channel_id"):
        if depth is not None:
            yield _rule(AlertKind.DEPTH, channel_id, depth)
        if age is not None:
            yield _rule(AlertKind.AGE, channel_id, age)


def _rule(kind: AlertKind, channel_id: int, threshold: int) -> Rule:
    return Rule(f"policy-{kind}-{channel_id}", POLICY, kind, threshold, channel_id=channel_id)


def depth(rules: Sequence[Rule], _now: datetime) -> Iterator[Measured]:
    named = [rule.consumer_id for rule in rules if rule.consumer_id]
    least = min(rule.threshold for rule in rules)
    for channel_id, consumer_id, value in fetch(_DEPTH, {"consumers": named, "least": least}):
        yield Measured(Subject(channel_id, consumer_id), value)


def age(rules: Sequence[Rule], now: datetime) -> Iterator[Measured]:
    named = [rule.channel_id for rule in rules if rule.channel_id]
    asked = {"now": now, "channels": named, "all": len(named) < len(rules)}
    for channel_id, value in fetch(_AGE, asked):
        yield Measured(Subject(channel_id), value)
