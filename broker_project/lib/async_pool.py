"""Database connections for an event loop. One that has rested is asked whether it lives before it is handed out."""

import time
from weakref import WeakKeyDictionary

from django.conf import settings
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

RESTED_SECONDS = 1.0
# When each was last given back. In between busy uses the question would be a round trip for nothing.
_given_back: WeakKeyDictionary[AsyncConnection, float] = WeakKeyDictionary()


async def _note(connection: AsyncConnection) -> None:
    _given_back[connection] = time.monotonic()


async def _check(connection: AsyncConnection) -> None:
    if time.monotonic() - _given_back.get(connection, 0.0) > RESTED_SECONDS:
        await AsyncConnectionPool.check_connection(connection)


def async_pool(*, min_size: int, max_size: int, timeout: float) -> AsyncConnectionPool:
    return AsyncConnectionPool(
        settings.DATABASE_URL,
        kwargs={"autocommit": True, "options": settings.SESSION_LIMITS, "connect_timeout": 5},
        min_size=min_size,
        max_size=max_size,
        timeout=timeout,
        open=False,
        check=_check,
        reset=_note,
    )
