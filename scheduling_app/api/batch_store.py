"""Stores what is not committed in groups, on one of the door's connections: a batch, or one that replaces another."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg
import structlog
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.group_commit import DoorFull, OutcomeUnknown, RowRefused
from scheduling_app.accept import store_batch
from scheduling_app.api.batch import Batch

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

TRIES = 3
# The rest of the door's connections is for single messages.
_writers = asyncio.Semaphore(2)


async def stored(batch: Batch, *, whole: bool) -> dict[int, bool]:
    """Whether each message was new, in one transaction."""
    if not batch.messages:
        return {}
    return await written(lambda connection: store_batch(connection, batch.messages, batch.times, whole=whole))


async def written(write: Callable[[AsyncConnection], Awaitable[Result]]) -> Result:
    """`write` is one transaction; one that lost against another is tried again."""
    for _ in range(TRIES):
        try:
            async with _writers, door_pool().connection() as connection:
                return await write(connection)
        except PoolTimeout as error:
            raise DoorFull from error
        except psycopg.Error as error:
            _unless_in_the_way(error)
    raise DoorFull


def _unless_in_the_way(error: psycopg.Error) -> None:
    """Returns if it was another transaction that was in the way; anything else is a refusal."""
    kind = (error.sqlstate or "")[:2]
    if kind == "40":
        return
    if kind == "55":
        # Somebody held a row for too long; nothing was stored.
        raise DoorFull from error
    if kind in ("22", "23"):
        raise RowRefused from error
    log.error("door.cannot_store", error=type(error).__name__)
    raise OutcomeUnknown from error
