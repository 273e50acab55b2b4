"""Where a scrape looks for alerts: as many rows as there are rules and open episodes."""

from collections.abc import Sequence

from prometheus_client.core import Metric

from broker_project.api.metrics import Source
from channels_app.metrics.stored import rows
from watch_app.metrics import catalogue

# A rule that is on and calm is 0: a graph has no gaps.
_OPEN = """
SELECT rule, sum(count)::float8 FROM (
    SELECT rule, 1 AS count FROM alert WHERE ended_at IS NULL AND began_at IS NOT NULL
    UNION ALL SELECT name, 0 FROM alert_rule WHERE enabled
    UNION ALL SELECT 'Dead letter policy', 0
) AS counted GROUP BY rule
"""


async def alerts() -> Sequence[Metric]:
    return (catalogue.OPEN.gauge(((rule,), count) for rule, count in await rows(_OPEN)),)


SOURCES = (Source("alerts", alerts),)
