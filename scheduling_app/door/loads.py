"""Which partition a message is given: the one with the least to do. Counts are read now and then, and reckoned on."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from channels_app.registry import Entry

log = structlog.get_logger(__name__)

MAX_AGE_SECONDS = 1.0

# From the counters: scheduled messages and open jobs by partition, and all open jobs: partition 0 has the rest.
_LOADS = """
SELECT kind, CASE WHEN kind = 2 THEN 0 ELSE consumer_id END, sum(count)::bigint FROM (
    SELECT kind, consumer_id, status, count FROM counter WHERE kind IN (2, 3, 4) AND channel_id = %(channel)s
    UNION ALL
    SELECT kind, consumer_id, status, count FROM counter_delta WHERE kind IN (2, 3, 4) AND channel_id = %(channel)s
) AS counted
WHERE status IN (100, 1001, 1002) GROUP BY 1, 2
"""


@dataclass
class _Figure:
    """What each partition has to do, what was added since the last reading began, and when that was."""

    counts: list[int]
    since: list[int] = field(default_factory=list)
    at: float = float("-inf")
    reading: asyncio.Task[None] | None = None


class Loads:
    """One per process. `read` gives what each partition of a channel has to do."""

    def __init__(
        self, read: Callable[[int, int], Awaitable[list[int]]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._clock = read, clock
        self._figures: dict[int, _Figure] = {}

    def least(self, channel_id: int, partitions: int) -> int:
        """Counted as given at once, so that those that come together are spread."""
        figure = self._figures.get(channel_id)
        if figure is None or len(figure.counts) != partitions:
            figure = self._figures[channel_id] = _Figure([0] * partitions, [0] * partitions)
        if self._clock() - figure.at >= MAX_AGE_SECONDS and figure.reading is None:
            figure.reading = asyncio.get_running_loop().create_task(self._refresh(channel_id, figure))
        found = figure.counts.index(min(figure.counts))
        figure.counts[found] += 1
        figure.since[found] += 1
        return found

    async def _refresh(self, channel_id: int, figure: _Figure) -> None:
        figure.at = self._clock()
        figure.since = [0] * len(figure.counts)
        try:
            read = await self._read(channel_id, len(figure.counts))
            figure.counts = [one + more for one, more in zip(read, figure.since, strict=True)]
        except (psycopg.Error, PoolTimeout) as error:
            log.warning("loads.cannot_read", error=type(error).__name__)
        finally:
            figure.reading = None


async def read_loads(channel_id: int, partitions: int) -> list[int]:
    async with door_pool().connection() as connection:
        rows = await (await connection.execute(_LOADS, {"channel": channel_id})).fetchall()
    counts, open_jobs = [0] * partitions, 0
    for kind, partition, count in rows:
        if kind == 2:
            open_jobs = count
        elif partition < partitions:
            counts[partition] += count
    elsewhere = sum(count for kind, _, count in rows if kind == 4)
    counts[0] += max(0, open_jobs - elsewhere)
    return counts


@cache
def loads() -> Loads:
    return Loads(read_loads)


def least_loaded(channel: Entry) -> int:
    """A channel with one partition, as most are, costs nothing."""
    return loads().least(channel.row_id, channel.partitions) if channel.partitions > 1 else 0
