"""How things stand at this moment: counters, state rows and a few probes of indexes. As many queries, however much."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
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

# In the scope: jobs that wait or are in flight, and open letters. As small as the registry.
_COUNTED = """
counted AS MATERIALIZED (
    SELECT channel_id, consumer_id, reason, kind, status, sum(count)::bigint AS count
    FROM (SELECT kind, channel_id, consumer_id, status, reason, count FROM counter
          UNION ALL SELECT kind, channel_id, consumer_id, status, reason, count FROM counter_delta) AS parts
    WHERE ((kind = 2 AND status IN (1001, 1002)) OR (kind = 5 AND status = 1) OR (kind = 3 AND status = 100))
      AND %(channel)s IN (0, channel_id) AND (%(consumer)s = 0 OR kind = 3 OR consumer_id = %(consumer)s)
    GROUP BY 1, 2, 3, 4, 5
)
"""
_STANDING = f"""
WITH {_COUNTED}
SELECT kind, status, reason, sum(count)::bigint FROM counted GROUP BY 1, 2, 3 HAVING sum(count) <> 0 ORDER BY 4 DESC, 3
"""  # noqa: S608

# The oldest of a consumer is the first of its highest or of its lowest priority: a few probes of job_ready each.
_CONSUMERS = f"""
WITH {_COUNTED}, held AS (
    SELECT consumer_id, coalesce(sum(count) FILTER (WHERE status = 1001), 0) AS queued,
           coalesce(sum(count) FILTER (WHERE status = 1002), 0) AS in_flight,
           coalesce(sum(count) FILTER (WHERE kind = 5), 0) AS letters
    FROM counted WHERE kind <> 3 GROUP BY 1
), alive AS MATERIALIZED (
    SELECT c.id AS channel_id, c.public_id AS channel, k.id AS consumer_id, k.public_id AS consumer, k.type AS kind,
           CASE WHEN s.disabled_at IS NOT NULL THEN 1 WHEN s.paused_at IS NOT NULL THEN 2
                WHEN cs.paused_at IS NOT NULL THEN 3
                WHEN k.circuit_breaker AND s.breaker_until IS NOT NULL THEN 4 ELSE 5 END AS state,
           coalesce(held.queued, 0)::bigint AS queued, coalesce(held.in_flight, 0)::bigint AS in_flight,
           coalesce(held.letters, 0)::bigint AS letters
    FROM consumer k JOIN channel c ON c.id = k.channel_id JOIN consumer_state s ON s.consumer_id = k.id
    JOIN channel_state cs ON cs.channel_id = c.id LEFT JOIN held ON held.consumer_id = k.id
    WHERE k.deleted_at IS NULL AND c.deleted_at IS NULL
      AND %(channel)s IN (0, k.channel_id) AND %(consumer)s IN (0, k.id)
), probed AS (
    SELECT consumer_id FROM alive WHERE queued > 0 ORDER BY queued DESC LIMIT {MOST_PROBED}
), oldest AS MATERIALIZED (
    SELECT probed.consumer_id,
           extract(epoch FROM now() - least(next.created_at, last.created_at))::float8 AS seconds
    FROM probed CROSS JOIN LATERAL (
        SELECT created_at FROM delivery_job j
        WHERE j.consumer_id = probed.consumer_id AND status = 1001 AND next_attempt_at IS NULL
        ORDER BY priority DESC, id LIMIT 1
    ) AS next CROSS JOIN LATERAL (
        SELECT created_at FROM delivery_job j
        WHERE j.consumer_id = probed.consumer_id AND status = 1001 AND next_attempt_at IS NULL AND priority = (
            SELECT priority FROM delivery_job l
            WHERE l.consumer_id = probed.consumer_id AND status = 1001 AND next_attempt_at IS NULL
            ORDER BY priority LIMIT 1)
        ORDER BY id LIMIT 1
    ) AS last
)
SELECT channel_id, channel, consumer_id, consumer, kind,
       (ARRAY['disabled', 'paused', 'channel paused', 'open', 'ok'])[state], queued, in_flight, letters, oldest.seconds,
       count(*) OVER ()
FROM alive LEFT JOIN oldest USING (consumer_id)
ORDER BY state, oldest.seconds DESC NULLS LAST, letters DESC, in_flight DESC, consumer_id LIMIT {MOST_CONSUMERS}
"""  # noqa: S608

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
    counted = _rows(_STANDING, told)
    consumers = _rows(_CONSUMERS, told)
    dues, overdue_seconds = _dues(scope, at)
    parts = _rows(_PARTS, told)
    return Now(
        at=at,
        queued=_count(counted, 2, 1001),
        in_flight=_count(counted, 2, 1002),
        letters=_count(counted, 5, 1),
        scheduled=_count(counted, 3, 100),
        overdue_seconds=overdue_seconds,
        consumers=[ConsumerNow(*row[:-1]) for row in consumers],
        consumers_left_out=consumers[0][-1] - len(consumers) if consumers else 0,
        next_hour=dues[: len(_HOUR_STEPS) - 1],
        next_day=dues[len(_HOUR_STEPS) - 1 :],
        causes=[Cause(reason, count) for kind, _, reason, count in counted if kind == 5],
        parts=[Part(*row[:-1]) for row in parts],
        depths=_depths(),
        paused_channels=[name for (name,) in _rows(_PAUSED, told)],
        open_alerts=parts[0][-1],
    )


def _count(counted: Sequence[tuple[Any, ...]], kind: int, status: int) -> int:
    return int(sum(row[3] for row in counted if row[:2] == (kind, status)))


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
