"""The frame's own database connections, apart from the pool of Django's threads."""

from functools import cache

from django.conf import settings
from psycopg_pool import AsyncConnectionPool


@cache
def door_pool() -> AsyncConnectionPool:
    """Opened at start; a connection that PostgreSQL has dropped is replaced before it is handed out."""
    return AsyncConnectionPool(
        settings.DATABASE_URL,
        kwargs={"autocommit": True, "options": settings.SESSION_LIMITS, "connect_timeout": 5},
        min_size=1,
        # Two writers of groups, two of batches, and those who look something up.
        max_size=6,
        timeout=3,
        open=False,
        check=AsyncConnectionPool.check_connection,
    )


async def open_door_pool() -> None:
    await door_pool().open(wait=False)


async def close_door_pool() -> None:
    await door_pool().close()
