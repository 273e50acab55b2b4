"""How things stand at this moment: counters, state rows and a few probes of indexes. As many queries, however much."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from math import inf
from typing import Any

import redis
from django.conf import settings
from django.db import connection

from broker_project.lib.redis_client import redis_client
from watch_app.values import Cause, ConsumerNow, Due, Now, Part, Scope

# The worst are shown, the rest is a number.
MOST_CONSUMERS = 200
# Of so many the oldest job is looked for: those that have the most.
MOST_PROBED = 500
# More in a stretch of time are told as so many at least.
MOST_DUE = 1_000
_HOUR_STEPS = [timedelta(minutes=5 * step) for step in range(13)]
_DAY_STEPS = [timedelta(hours=step) for step in range(25)]

# Jobs that wait or are in flight, open letters, messages for later; a row of each consumer and reason. As small as the
# registry.
_COUNTED = """
SELECT CASE kind WHEN 5 THEN 'letters' WHEN 3 THEN 'scheduled'
                 ELSE CASE status WHEN 1001 THEN 'queued' ELSE 'in_flight' END END,
       consumer_id, reason, sum(count)::bigint
FROM (SELECT kind, channel_id, consumer_id, status, reason, count FROM counter
      UNION ALL SELECT kind, channel_id, consumer_id, status, reason, count FROM counter_delta) AS parts
WHERE ((kind = 2 AND status IN (1001, 1002)) OR (kind = 5 AND status = 1) OR (kind = 3 AND status = 100))
  AND %(channel)s IN (0, channel_id) AND (%(consumer)s = 0 OR kind = 3 OR consumer_id = %(consumer)s)
GROUP BY 1, 2, 3 HAVING sum(count) <> 0
"""

# The worst first.
_STATES = ("disabled", "paused", "channel paused", "open", "ok")
# The oldest of a consumer is the first of its highest or of its lowest priority: a few probes of job_ready each.
_CONSUMERS = """
SELECT c.id, c.public_id, k.id, k.public_id, k.type,
       CASE WHEN s.disabled_at IS NOT NULL THEN 'disabled' WHEN s.paused_at IS NOT NULL THEN 'paused'
            WHEN cs.paused_at IS NOT NULL THEN 'channel paused'
            WHEN k.circuit_breaker AND s.breaker_until IS NOT NULL THEN 'open' ELSE 'ok' END,
       CASE WHEN k.id = ANY(%(probed)s::bigint[]) THEN extract(epoch FROM now() - least((
           SELECT created_at FROM delivery_job
           WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL ORDER BY priority DESC, id LIMIT 1
       ), (
           SELECT created_at FROM delivery_job
           WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL AND priority = (
               SELECT priority FROM delivery_job WHERE consumer_id = k.id AND status = 1001 AND next_attempt_at IS NULL
               ORDER BY priority LIMIT 1)
           ORDER BY id LIMIT 1
       )))::float8 END
FROM consumer k JOIN channel c ON c.id = k.channel_id JOIN consumer_state s ON s.consumer_id = k.id
JOIN channel_state cs ON cs.channel_id = c.id
WHERE k.deleted_at IS NULL AND c.deleted_at IS NULL AND %(channel)s IN (0, k.channel_id) AND %(consumer)s IN (0, k.id)
"""

# In the words of the index scheduled_due_all; of one channel, by skipping along its own index from lane to lane.
_DUE = f"""
SELECT (SELECT count(*) FROM (
    SELECT FROM scheduled_message
    WHERE status = 100 AND dispatched_at IS NULL AND due_at >= since AND due_at < until LIMIT {MOST_DUE}
) AS found), (
    SELECT extract(epoch FROM now() - due_at)::float8 FROM scheduled_message
    WHERE status = 100 AND dispatched_at IS NULL AND due_at < now() ORDER BY due_at LIMIT 1
)
FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[]) WITH ORDINALITY AS span (since, until, place)
ORDER BY place
"""  # noqa: S608
_DUE_IN_CHANNEL = f"""
WITH RECURSIVE lane AS (
    (SELECT partition, due_at FROM scheduled_message WHERE channel_id = %(channel)s AND status = 100
     ORDER BY partition, due_at LIMIT 1)
    UNION ALL
    SELECT following.* FROM lane CROSS JOIN LATERAL (
        SELECT s.partition, s.due_at FROM scheduled_message s
        WHERE s.channel_id = %(channel)s AND s.status = 100 AND s.partition > lane.partition
        ORDER BY s.partition, s.due_at LIMIT 1
    ) AS following
)
SELECT least({MOST_DUE}, (SELECT coalesce(sum(found.count), 0) FROM lane CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT FROM scheduled_message s WHERE s.channel_id = %(channel)s AND s.partition = lane.partition
           AND s.status = 100 AND s.due_at >= since AND s.due_at < until LIMIT {MOST_DUE}
    ) AS first
) AS found)), (SELECT extract(epoch FROM now() - min(due_at))::float8 FROM lane WHERE due_at < now())
FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[]) WITH ORDINALITY AS span (since, until, place)
ORDER BY place
"""  # noqa: S608

_PAUSED = """
SELECT c.public_id FROM channel c JOIN channel_state s ON s.channel_id = c.id
WHERE s.paused_at IS NOT NULL AND c.deleted_at IS NULL AND %(channel)s IN (0, c.id) ORDER BY c.id
"""
# Beat and the workers; what else leaves a mark there is not a part that runs. Beside them the open alerts: those that
# are not over are few, and together in the index alert_by_end.
_PARTS = """
SELECT name, extract(epoch FROM now() - progress.at)::float8, (
    SELECT count(*) FROM alert WHERE ended_at IS NULL AND began_at IS NOT NULL
       AND %(channel)s IN (0, channel_id) AND %(consumer)s IN (0, consumer_id)
)
FROM unnest(ARRAY['beat', 'dispatch', 'delivery', 'reports']) WITH ORDINALITY AS part (name, place)
LEFT JOIN progress USING (name) ORDER BY place
"""


def now(scope: Scope) -> Now:
    """At most MOST_CONSUMERS of them, the worst first; the rest is a number."""
    at = datetime.now(UTC)
    told = {"channel": scope.channel_id, "consumer": scope.consumer_id}
    counted = _rows(_COUNTED, told)
    totals = _summed(counted, lambda row: row[0])
    consumers = _consumers(told, _summed(counted, lambda row: row[:2]))
    dues, overdue_seconds = _dues(scope, at)
    parts = _rows(_PARTS, told)
    return Now(
        at=at,
        queued=totals["queued"],
        in_flight=totals["in_flight"],
        letters=totals["letters"],
        scheduled=totals["scheduled"],
        overdue_seconds=overdue_seconds,
        consumers=consumers[:MOST_CONSUMERS],
        consumers_left_out=max(0, len(consumers) - MOST_CONSUMERS),
        next_hour=dues[: len(_HOUR_STEPS) - 1],
        next_day=dues[len(_HOUR_STEPS) - 1 :],
        causes=_causes(counted),
        parts=[Part(*row[:-1]) for row in parts],
        depths=_depths(),
        paused_channels=[name for (name,) in _rows(_PAUSED, told)],
        open_alerts=parts[0][-1],
    )


def _summed(counted: Iterable[Sequence[Any]], key: Callable[[Sequence[Any]], Any]) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for row in counted:
        sums[key(row)] += row[-1]
    return sums


def _consumers(told: dict[str, int], held: Counter[tuple[str, int]]) -> list[ConsumerNow]:
    """The worst first. What they hold is added here: in a join, each would be compared with each."""
    probed = [consumer_id for (what, consumer_id), count in held.most_common() if what == "queued" and count > 0]
    rows = _rows(_CONSUMERS, {**told, "probed": probed[:MOST_PROBED]})
    return sorted((_consumer(row, held) for row in rows), key=_how_well)


def _consumer(row: tuple[Any, ...], held: Counter[tuple[str, int]]) -> ConsumerNow:
    holds = [held[what, row[2]] for what in ("queued", "in_flight", "letters")]
    return ConsumerNow(*[*row[:-1], *holds, row[-1]])


def _how_well(one: ConsumerNow) -> tuple[Any, ...]:
    waits = one.oldest_waiting_seconds
    longest = inf if waits is None else -waits
    return _STATES.index(one.state), longest, -one.letters, -one.in_flight, one.consumer_id


def _causes(counted: Iterable[Sequence[Any]]) -> list[Cause]:
    """The worst first."""
    reasons = _summed((row for row in counted if row[0] == "letters"), lambda row: row[2])
    return [Cause(*pair) for pair in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))]


def _dues(scope: Scope, at: datetime) -> tuple[list[Due], float | None]:
    """Of the next hour and of the next day, and how late the first is that is due and still waits."""
    edges = [edge for steps in (_HOUR_STEPS, _DAY_STEPS) for edge in _between(steps, at)]
    told = {"since": [since for since, _ in edges], "until": [until for _, until in edges]}
    rows = _rows(_DUE_IN_CHANNEL if scope.channel_id else _DUE, {**told, "channel": scope.channel_id})
    dues = [Due(since, int(count), count >= MOST_DUE) for (since, _), (count, _) in zip(edges, rows, strict=True)]
    return dues, rows[0][1]


def _between(steps: list[timedelta], at: datetime) -> Iterator[tuple[datetime, datetime]]:
    return pairwise(at + step for step in steps)


def _rows(statement: str, told: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, told)
        return cursor.fetchall()


def _depths() -> dict[str, int] | None:
    names = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    pipeline = _client().pipeline(transaction=False)
    for name in names:
        pipeline.llen(name)
    try:
        return dict(zip(names, pipeline.execute(), strict=True))
    except redis.RedisError:
        return None


@cache
def _client() -> redis.Redis:
    return redis_client()
