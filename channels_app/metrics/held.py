"""What consumers have and have not acknowledged, and how far behind those are that poll by index."""

from collections.abc import Sequence

from prometheus_client.core import Metric

from channels_app.metrics import catalogue
from channels_app.metrics.stored import rows

# Along job_in_flight, consumer by consumer: those whose time ends first, and no more of them than a lease may hold
# unless it is told otherwise. What a worker of ours is sending has no time of receipt.
UNACKED = """
SELECT shown.channel, shown.consumer, extract(epoch FROM now() - held.oldest)::float8
FROM shown CROSS JOIN LATERAL (
    SELECT min(first.received_at) AS oldest FROM (
        SELECT received_at FROM delivery_job WHERE consumer_id = shown.id AND status = 1002
        ORDER BY lease_until LIMIT %(held)s
    ) AS first
) AS held WHERE held.oldest IS NOT NULL
"""

LAG = """
SELECT shown.channel, shown.consumer, (cs.last_sequence - s.acked_index)::float8
FROM shown JOIN consumer k ON k.id = shown.id AND k.type = 'pull' AND k.pull_mode = 'index'
JOIN consumer_state s ON s.consumer_id = k.id JOIN channel_state cs ON cs.channel_id = k.channel_id
"""


async def unacked() -> Sequence[Metric]:
    oldest = await rows(UNACKED)
    return (catalogue.OLDEST_UNACKED.gauge(((channel, consumer), age) for channel, consumer, age in oldest),)


async def index() -> Sequence[Metric]:
    lags = await rows(LAG)
    return (catalogue.INDEX_LAG.gauge(((channel, consumer), lag) for channel, consumer, lag in lags),)
