"""Where a scrape looks for dead letters: counters, and one probe of an index per channel."""

from collections import defaultdict
from collections.abc import Sequence

from prometheus_client.core import Metric

from broker_project.api.metrics import Source
from channels_app.metrics.stored import rows
from dlq_app.metrics import catalogue
from dlq_app.models.dead_letter import LetterStatus

_OPEN = """
SELECT shown.channel, shown.consumer, reason, sum(count)::float8
FROM (SELECT consumer_id, reason, count FROM counter WHERE kind = 5 AND status = 1
      UNION ALL SELECT consumer_id, reason, count FROM counter_delta WHERE kind = 5 AND status = 1) AS counted
JOIN shown ON shown.id = counted.consumer_id
GROUP BY shown.channel, shown.consumer, reason HAVING sum(count) <> 0
"""
# With the deleted channels of the same name counted in, no total falls when a channel is made anew.
_HAPPENED = """
, counted AS (
    SELECT channel_id, status, sum(count) AS count
    FROM (SELECT channel_id, status, count FROM counter WHERE kind = 5 AND status > 10
          UNION ALL SELECT channel_id, status, count FROM counter_delta WHERE kind = 5 AND status > 10) AS parts
    GROUP BY channel_id, status
)
SELECT c.public_id, counted.status, sum(counted.count)::float8
FROM channel c JOIN counted ON counted.channel_id = c.id
WHERE c.public_id IN (SELECT public_id FROM named) GROUP BY c.public_id, counted.status
"""
# Letters are numbered as they enter. BETWEEN, in the order of the index: for an equal sign the planner may walk along
# the letters of all channels.
_OLDEST = """
SELECT named.public_id, extract(epoch FROM now() - oldest.entered_at)::float8
FROM named CROSS JOIN LATERAL (
    SELECT entered_at FROM dead_letter
    WHERE channel_id BETWEEN named.id AND named.id AND resolution IS NULL ORDER BY channel_id, id LIMIT 1
) AS oldest
"""
_TOTALS = {
    LetterStatus.ENTERED: catalogue.ENTERED,
    LetterStatus.REQUEUED: catalogue.REQUEUED,
    LetterStatus.DISCARDED: catalogue.DISCARDED,
    LetterStatus.EDITED: catalogue.EDITED,
}


async def dead_letters() -> Sequence[Metric]:
    totals: dict[int, list[tuple[tuple[str], float]]] = defaultdict(list)
    for channel, status, count in await rows(_HAPPENED):
        totals[status].append(((channel,), count))
    return (
        catalogue.OPEN.gauge((row[:3], row[3]) for row in await rows(_OPEN)),
        *(metric.counter(totals[status]) for status, metric in _TOTALS.items()),
        catalogue.OLDEST.gauge(((channel,), age) for channel, age in await rows(_OLDEST)),
    )


SOURCES = (Source("dead_letters", dead_letters),)
