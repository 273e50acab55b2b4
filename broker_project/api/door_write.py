"""Writes that are not committed in groups, each in a transaction of its own on one of the doors' connections."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg
import structlog
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.group_commit import DoorFull, OutcomeUnknown, RowRefused

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

TRIES = 3
# The rest of the door's connections is for what is committed in groups.
_writers = asyncio.Semaphore(2)


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
