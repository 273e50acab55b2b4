"""A channel's open work: messages not fanned out, jobs not done. Read now and then, reckoned in between."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

import psycopg
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway
from broker_project.lib.bound import fetch

MAX_AGE_SECONDS = 0.25

# From the counters, so as quick with a million jobs as with one: messages ACKNOWLEDGED, jobs QUEUED and INFLIGHT.
_OPEN_WORK = """
SELECT coalesce(sum(count), 0)::bigint FROM (
    SELECT count FROM counter WHERE kind IN (1, 2) AND channel_id = %(channel)s AND status IN (100, 1001, 1002)
    UNION ALL
    SELECT count FROM counter_delta WHERE kind IN (1, 2) AND channel_id = %(channel)s AND status IN (100, 1001, 1002)
) AS counted
"""


@dataclass
class _Figure:
    """What was read, when that was begun, and what this process has let in since."""

    read: int = 0
    at: float = float("-inf")
    since: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Backlog:
    """One per process. `read` gives the open work of a channel."""

    def __init__(self, read: Callable[[int], Awaitable[int]], clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read, clock
        self._figures: dict[int, _Figure] = {}

    async def admit(self, channel_id: int, most: int, messages: int) -> bool:
        """Whether there is room; then these messages count at once, so that those beside them see them."""
        figure = self._figures.setdefault(channel_id, _Figure())
        if self._is_old(figure):
            await self._refresh(channel_id, figure)
        if figure.read + figure.since >= most:
            return False
        figure.since += messages
        return True

    def _is_old(self, figure: _Figure) -> bool:
        return self._clock() - figure.at >= MAX_AGE_SECONDS

    async def _refresh(self, channel_id: int, figure: _Figure) -> None:
        """One reads, the others wait for it. What is let in meanwhile counts until the next reading."""
        async with figure.reading:
            if self._is_old(figure):
                began, before = self._clock(), figure.since
                figure.read = await self._read(channel_id)
                figure.at, figure.since = began, figure.since - before


async def read_open_work(channel_id: int) -> int:
    try:
        async with door_pool().connection() as connection:
            cursor = await connection.execute(_OPEN_WORK, {"channel": channel_id})
            row = await cursor.fetchone()
    except (psycopg.Error, PoolTimeout) as error:
        raise StorageAway from error
    return int(row[0]) if row else 0


def open_work(channel_id: int) -> int:
    """The same for who has no event loop."""
    return int(fetch(_OPEN_WORK, {"channel": channel_id})[0][0])


@cache
def backlog() -> Backlog:
    return Backlog(read_open_work)
