"""The desk of this process: its connections, its ear for hints, and its end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache

import psycopg
import structlog
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.ending import at_end
from broker_project.api.exceptions import StorageAway
from broker_project.lib.redis_client import HEALTH_CHECK_SECONDS, listening_client
from channels_app.doorbell import READY_FOR_PULL, doorbell
from channels_app.pull.desk import Desk
from channels_app.pull.lease import Ask, Leased, lease, release, with_ready_jobs

log = structlog.get_logger(__name__)

# Redis is away: the look once a second stands behind it.
REST_SECONDS = 1.0
TELL_AGAIN_SECONDS = 0.1
# The rest of the door's connections is for those who publish and acknowledge.
_at_work = asyncio.Semaphore(2)
_background: list[asyncio.Task[None]] = []


@cache
def desk() -> Desk:
    return Desk(_lease, _release, _look)


async def start_desk() -> None:
    """Started with the web server; when that begins to stop, those who wait are answered."""
    at_end(desk().close)
    _background.extend([asyncio.create_task(listen()), asyncio.create_task(desk().look_round())])


async def stop_desk() -> None:
    await desk().finish()
    await told_to_end(_background)


async def told_to_end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Until they hear: Redis' client loses a cancellation that comes while it connects."""
    while under_way := {task for task in tasks if not task.done()}:
        for task in under_way:
            task.cancel()
        await asyncio.wait(under_way, timeout=TELL_AGAIN_SECONDS)


async def listen() -> None:
    """Whatever happens to Redis, it is tried again."""
    while True:
        try:
            async for consumer_ids in hints():
                desk().hint(consumer_ids)
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the ear must not stay deaf.
            log.warning("desk.cannot_listen", error=type(error).__name__)
        await asyncio.sleep(REST_SECONDS)


async def hints() -> AsyncIterator[list[int]]:
    """Consumers that have work, as the doorbells of other processes say."""
    async with listening_client() as client, client.pubsub() as heard:
        await heard.subscribe(READY_FOR_PULL)
        while True:
            # In between the connection is asked whether it lives.
            message = await heard.get_message(ignore_subscribe_messages=True, timeout=HEALTH_CHECK_SECONDS)
            if message is not None:
                yield [int(consumer_id) for consumer_id in message["data"].split(b",")]


async def _lease(ask: Ask) -> list[Leased]:
    async with _connection() as connection:
        return await lease(connection, ask)


async def _release(jobs: Sequence[Leased]) -> None:
    async with _connection() as connection:
        consumer_ids = await release(connection, jobs)
    # Others may stand in line, here or in another process.
    doorbell().hint(consumer_ids)
    log.info("lease.released", jobs=len(jobs), reason="the client had left")


async def _look(consumer_ids: Sequence[int]) -> list[int]:
    async with _connection() as connection:
        return await with_ready_jobs(connection, consumer_ids)


@asynccontextmanager
async def _connection() -> AsyncIterator[AsyncConnection]:
    try:
        async with _at_work, door_pool().connection() as connection:
            yield connection
    except (psycopg.Error, PoolTimeout) as error:
        log.error("desk.storage_away", error=type(error).__name__)
        raise StorageAway from error
