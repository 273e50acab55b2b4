"""The frame's own database connections, apart from the pool of Django's threads."""

from functools import cache

from psycopg_pool import AsyncConnectionPool

from broker_project.lib.async_pool import async_pool


@cache
def door_pool() -> AsyncConnectionPool:
    """Opened at start: two writers of each kind of group, two of batches, two who lease, and who looks something up."""
    return async_pool(min_size=1, max_size=10, timeout=3)


async def open_door_pool() -> None:
    await door_pool().open(wait=False)


async def close_door_pool() -> None:
    await door_pool().close()
