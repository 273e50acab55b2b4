"""Database connections for an event loop. One that has rested is asked whether it lives before it is handed out."""

import time
from weakref import WeakKeyDictionary

from django.conf import settings
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

RESTED_SECONDS = 1.0
# When each was last handed out. Between busy uses the question would be a round trip for nothing.
_handed_out: WeakKeyDictionary[AsyncConnection, float] = WeakKeyDictionary()


async def _check(connection: AsyncConnection) -> None:
    now = time.monotonic()
    if now - _handed_out.get(connection, 0.0) > RESTED_SECONDS:
        await AsyncConnectionPool.check_connection(connection)
    _handed_out[connection] = now


def async_pool(*, min_size: int, max_size: int, timeout: float) -> AsyncConnectionPool:
    return AsyncConnectionPool(
        settings.DATABASE_URL,
        kwargs={"autocommit": True, "options": settings.SESSION_LIMITS, "connect_timeout": 5},
        min_size=min_size,
        max_size=max_size,
        timeout=timeout,
        open=False,
        check=_check,
    )
