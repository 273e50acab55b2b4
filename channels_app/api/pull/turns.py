"""Calls of one consumer that polls come one by one, whichever door they come by."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway

# The rest of the door's connections is for those who publish, lease and acknowledge.
_at_work = asyncio.Semaphore(2)
_turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def in_turn(consumer_id: int) -> AsyncIterator[AsyncConnection]:
    """They would wait for each other in the database anyway: here they wait without a connection in their hands."""
    turn = _turns.setdefault(consumer_id, asyncio.Lock())
    try:
        async with turn, _at_work, door_pool().connection() as connection:
            yield connection
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise StorageAway from error
