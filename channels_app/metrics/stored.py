"""What the rows say. Counts come from the counters, ages from one probe of an index: nothing here scans a hot table."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from prometheus_client.core import Metric

from broker_project.api.door_pool import door_pool
from broker_project.api.health import CHECK_SECONDS
from channels_app.metrics import catalogue
from channels_app.models import JobStatus

# Beyond these the oldest are shown, and the rest is told as a number.
MOST_CHANNELS = 500
MOST_CONSUMERS = 2_500
MOST_RETRIES = 10_000
MOST_HELD = 1_000
LIMITS = {"channels": MOST_CHANNELS, "consumers": MOST_CONSUMERS, "retries": MOST_RETRIES, "held": MOST_HELD}
# A statement that takes longer is given up; the scrape goes on without it.
_PATIENCE = "SET LOCAL statement_timeout = '1s'"

# Goes before every statement: the channels and consumers that have series of their own.
SHOWN = """
WITH named AS MATERIALIZED (
    SELECT id, public_id FROM channel WHERE deleted_at IS NULL ORDER BY id LIMIT %(channels)s
), shown AS MATERIALIZED (
    SELECT k.id, named.public_id AS channel, k.public_id AS consumer
    FROM named JOIN consumer k ON k.channel_id = named.id AND k.deleted_at IS NULL ORDER BY k.id LIMIT %(consumers)s
)
"""
CHANNELS = "SELECT public_id FROM named"

# A place in the sequence is never taken back, so neither sum falls when old messages are pruned, nor, with the deleted
# channels of the same name counted in, when a channel is made anew.
_MESSAGES = """
, waiting AS (
    SELECT channel_id, sum(count) AS count
    FROM (SELECT channel_id, count FROM counter WHERE kind = 1 AND status = 100
          UNION ALL SELECT channel_id, count FROM counter_delta WHERE kind = 1 AND status = 100) AS counted
    GROUP BY channel_id
)
SELECT c.public_id, sum(s.last_sequence)::float8, sum(coalesce(waiting.count, 0))::float8
FROM channel c JOIN channel_state s ON s.channel_id = c.id LEFT JOIN waiting ON waiting.channel_id = c.id
WHERE c.public_id IN (SELECT public_id FROM named) GROUP BY c.public_id
"""

# Those of consumers that are not shown come together, without a name.
_JOBS = """
SELECT shown.channel, shown.consumer, status, reason, sum(count)::float8
FROM (SELECT consumer_id, status, reason, count FROM counter WHERE kind = 2
      UNION ALL SELECT consumer_id, status, reason, count FROM counter_delta WHERE kind = 2) AS counted
LEFT JOIN shown ON shown.id = counted.consumer_id
GROUP BY shown.channel, shown.consumer, status, reason HAVING sum(count) <> 0
"""

_RETRIES = """
SELECT count(*)::float8 FROM
(SELECT 1 FROM delivery_job WHERE status = 1001 AND next_attempt_at IS NOT NULL LIMIT %(retries)s) AS found
"""

# The next in line, and the oldest of the lowest priority, which waits longest: a few probes of job_ready per consumer.
_OLDEST = """
SELECT shown.channel, shown.consumer, extract(epoch FROM now() - least(next.created_at, last.created_at))::float8
FROM shown CROSS JOIN LATERAL (
    SELECT created_at FROM delivery_job
    WHERE consumer_id = shown.id AND status = 1001 AND next_attempt_at IS NULL ORDER BY priority DESC, id LIMIT 1
) AS next CROSS JOIN LATERAL (
    SELECT created_at FROM delivery_job
    WHERE consumer_id = shown.id AND status = 1001 AND next_attempt_at IS NULL AND priority = (
        SELECT priority FROM delivery_job WHERE consumer_id = shown.id AND status = 1001 AND next_attempt_at IS NULL
        ORDER BY priority LIMIT 1)
    ORDER BY id LIMIT 1
) AS last
"""

_CONSUMERS = """
SELECT shown.channel, shown.consumer, (s.paused_at IS NOT NULL)::int, (s.disabled_at IS NOT NULL)::int,
       coalesce(s.breaker_until > now(), false)::int
FROM shown JOIN consumer_state s ON s.consumer_id = shown.id
"""
_PAUSED_CHANNELS = """
SELECT public_id, (s.paused_at IS NOT NULL)::int FROM named JOIN channel_state s ON s.channel_id = named.id
"""
_LEFT_OUT = """
SELECT (SELECT count(*) FROM channel WHERE deleted_at IS NULL) - (SELECT count(*) FROM named),
       (SELECT count(*) FROM consumer WHERE deleted_at IS NULL) - (SELECT count(*) FROM shown)
"""
_PROGRESS = "SELECT name, extract(epoch FROM now() - at)::float8 FROM progress"


async def rows(statement: str) -> list[tuple[Any, ...]]:
    async with door_pool().connection(timeout=CHECK_SECONDS) as connection, connection.transaction():
        await connection.execute(_PATIENCE)
        cursor = await connection.execute(SHOWN + statement, LIMITS)
        return await cursor.fetchall()


async def messages() -> Sequence[Metric]:
    counted = await rows(_MESSAGES)
    return (
        catalogue.ACCEPTED.counter(([channel], made + waiting) for channel, made, waiting in counted),
        catalogue.DISPATCHED.counter(([channel], made) for channel, made, _ in counted),
    )


async def jobs() -> Sequence[Metric]:
    counted = await rows(_JOBS)
    states: Counter[tuple[str, str, str]] = Counter()
    for channel, consumer, status, _, count in counted:
        states[channel, consumer, JobStatus(status).name] += count
    in_flight = sum(count for *_, status, _, count in counted if status == JobStatus.INFLIGHT)
    dead = [(row[0:2] + row[3:4], row[4]) for row in counted if row[0] and row[2] == JobStatus.DEAD]
    return (
        catalogue.JOBS.gauge((labels, count) for labels, count in states.items() if labels[0]),
        catalogue.DEAD_JOBS.gauge(dead),
        catalogue.IN_FLIGHT.gauge([((), in_flight)]),
    )


async def waiting() -> Sequence[Metric]:
    [(retries,)] = await rows(_RETRIES)
    oldest = await rows(_OLDEST)
    return (
        catalogue.RETRIES_WAITING.gauge([((), retries)]),
        catalogue.OLDEST_WAITING.gauge(((channel, consumer), age) for channel, consumer, age in oldest),
    )


async def states() -> Sequence[Metric]:
    consumers = await rows(_CONSUMERS)
    [(channels_left, consumers_left)] = await rows(_LEFT_OUT)
    return (
        catalogue.CONSUMER_PAUSED.gauge((row[:2], row[2]) for row in consumers),
        catalogue.CONSUMER_DISABLED.gauge((row[:2], row[3]) for row in consumers),
        catalogue.BREAKER_OPEN.gauge((row[:2], row[4]) for row in consumers),
        catalogue.CHANNEL_PAUSED.gauge(((channel,), paused) for channel, paused in await rows(_PAUSED_CHANNELS)),
        catalogue.LEFT_OUT.gauge(((("channel",), channels_left), (("consumer",), consumers_left))),
    )


async def progress() -> Sequence[Metric]:
    return (catalogue.PROGRESS_AGE.gauge(((part,), age) for part, age in await rows(_PROGRESS)),)
