"""Stores a batch on one of the door's connections."""

import asyncio

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.group_commit import DoorFull, OutcomeUnknown, RowRefused
from scheduling_app.accept import store_batch
from scheduling_app.api.batch import Batch

log = structlog.get_logger(__name__)

TRIES = 3
# The rest of the door's connections is for single messages.
_writers = asyncio.Semaphore(2)


async def stored(batch: Batch, *, whole: bool) -> dict[int, bool]:
    """Whether each message was new, in one transaction; a transaction that lost against another is tried again."""
    if not batch.messages:
        return {}
    for _ in range(TRIES):
        try:
            async with _writers, door_pool().connection() as connection:
                return await store_batch(connection, batch.messages, batch.times, whole=whole)
        except PoolTimeout as error:
            raise DoorFull from error
        except psycopg.Error as error:
            _unless_in_the_way(error, len(batch))
    raise DoorFull


def _unless_in_the_way(error: psycopg.Error, messages: int) -> None:
    """Returns if it was another transaction that was in the way; anything else is a refusal."""
    kind = (error.sqlstate or "")[:2]
    if kind == "40":
        return
    if kind in ("22", "23"):
        raise RowRefused from error
    log.error("batch.failed", error=type(error).__name__, messages=messages)
    raise OutcomeUnknown from error
