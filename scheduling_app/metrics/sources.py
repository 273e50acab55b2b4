"""Where a scrape looks for messages for later: counters and indexes in PostgreSQL, and what workers have counted."""

import asyncio
from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric

from broker_project.api.metrics import Source
from broker_project.lib import tally
from channels_app.metrics.counted import hashes, under
from channels_app.metrics.stored import rows
from scheduling_app.metrics import activity, catalogue
from scheduling_app.models import ScheduledStatus

MOST_OVERDUE = 10_000
Counts = dict[str, float]

# With the deleted channels of the same name counted in, no total falls when a channel is made anew.
_COUNTS = """
, counted AS (
    SELECT channel_id, status, sum(count) AS count
    FROM (SELECT channel_id, status, count FROM counter WHERE kind = 3
          UNION ALL SELECT channel_id, status, count FROM counter_delta WHERE kind = 3) AS parts
    GROUP BY channel_id, status
)
SELECT c.public_id, counted.status, sum(counted.count)::float8
FROM channel c JOIN counted ON counted.channel_id = c.id
WHERE c.public_id IN (SELECT public_id FROM named) GROUP BY c.public_id, counted.status
"""
# In the words of the index scheduled_due_all.
_OVERDUE = f"""
SELECT count(*)::float8 FROM (
    SELECT 1 FROM scheduled_message WHERE status = 100 AND dispatched_at IS NULL AND due_at < now()
    LIMIT {MOST_OVERDUE}
) AS found
"""  # noqa: S608
# The first of each partition, by skipping along the index: what is due later is not looked at.
_OLDEST = """
SELECT named.public_id, (
    WITH RECURSIVE first AS (
        (SELECT partition, due_at FROM scheduled_message WHERE channel_id = named.id AND status = 100
         ORDER BY partition, due_at LIMIT 1)
        UNION ALL
        SELECT following.* FROM first CROSS JOIN LATERAL (
            SELECT s.partition, s.due_at FROM scheduled_message s
            WHERE s.channel_id = named.id AND s.status = 100 AND s.partition > first.partition
            ORDER BY s.partition, s.due_at LIMIT 1
        ) AS following
    )
    SELECT extract(epoch FROM now() - min(due_at))::float8 FROM first WHERE due_at < now()
)
FROM named
"""
_CHANNELS = "SELECT id, public_id FROM named"


async def scheduled() -> Sequence[Metric]:
    of: dict[int, Counts] = {status: {} for status in ScheduledStatus}
    created: Counts = {}
    for channel, status, count in await rows(_COUNTS):
        of[status][channel] = count
        created[channel] = created.get(channel, 0) + count
    return (
        catalogue.CREATED.counter(_by_channel(created)),
        catalogue.DISPATCHED.counter(_by_channel(of[ScheduledStatus.DISPATCHED])),
        catalogue.CANCELLED.counter(_by_channel(of[ScheduledStatus.CANCELLED])),
        catalogue.SET_ASIDE.counter(_by_channel(of[ScheduledStatus.SET_ASIDE])),
        catalogue.WAITING.gauge(_by_channel(of[ScheduledStatus.SCHEDULED])),
    )


async def overdue() -> Sequence[Metric]:
    [(count,)] = await rows(_OVERDUE)
    oldest = await rows(_OLDEST)
    return (
        catalogue.OVERDUE.gauge([((), count)]),
        catalogue.OLDEST_OVERDUE.gauge(((channel,), age) for channel, age in oldest if age is not None),
    )


async def lags() -> Sequence[Metric]:
    names = dict(await rows(_CHANNELS))
    keys = [tally.ALL, *map(activity.lag_key, names)]
    everything, *of_channels = await asyncio.to_thread(hashes, keys)
    errors = ((words.split("|"), count) for words, count in under(activity.ERRORS, everything))
    histograms = (
        ((name,), buckets, total)
        for name, fields in zip(names.values(), of_channels, strict=True)
        for _, buckets, total in activity.LAG.read(fields)
    )
    return catalogue.LAG_SECONDS.histogram(histograms), catalogue.ERRORS.counter(errors)


def _by_channel(counts: Counts) -> Iterator[tuple[tuple[str], float]]:
    yield from (((channel,), count) for channel, count in counts.items())


SOURCES = (
    Source("scheduled", scheduled),
    Source("overdue", overdue),
    Source("scheduling", lags),
)
