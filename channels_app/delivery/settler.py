"""Gathers outcomes of the whole process and writes them every 20 ms, or every 200: no slow answer delays another's."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from psycopg import DataError, IntegrityError, OperationalError
from psycopg_pool import PoolTimeout

from channels_app.delivery.settle import Settled

log = structlog.get_logger(__name__)

EVERY_SECONDS = 0.02
MOST = 200
# Longer than a restart of PostgreSQL; after it the lease brings the job back.
PATIENCE_SECONDS = 30.0


class Settler:
    """`write` stores a batch; `release` is called when a batch is over, stored or not."""

    def __init__(
        self, write: Callable[[list[Settled]], Awaitable[None]], release: Callable[[list[Settled]], None]
    ) -> None:
        self._write, self._release = write, release
        self._waiting: list[Settled] = []
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        while self._waiting:
            await self._write_some()

    def put(self, settled: Settled) -> None:
        self._waiting.append(settled)
        self._arrived.set()

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            if len(self._waiting) < MOST:
                await asyncio.sleep(EVERY_SECONDS)
            await self._write_some()
            if not self._waiting:
                self._arrived.clear()

    async def _write_some(self) -> None:
        batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._write_patiently(batch)
        except asyncio.CancelledError:
            # Stopped in the middle: written again, which changes nothing that was written.
            self._waiting = [*batch, *self._waiting]
            raise
        except Exception as error:
            # The leases bring these jobs back; the next batch must not wait for that.
            log.exception("settler.gave_up", error=type(error).__name__, jobs=len(batch))
        self._release(batch)

    async def _write_patiently(self, batch: list[Settled]) -> None:
        """One row that cannot be written never costs its neighbours: the batch is halved until it stands alone."""
        wait = 0.05
        while True:
            try:
                return await self._write(batch)
            except (DataError, IntegrityError, UnicodeError):
                if len(batch) == 1:
                    # Its lease brings the job back; ten times, and the job is to blame.
                    log.exception("settler.cannot_write", job=batch[0].job.job_id)
                    return None
                await self._write_patiently(batch[: len(batch) // 2])
                return await self._write_patiently(batch[len(batch) // 2 :])
            except (OperationalError, PoolTimeout) as error:
                log.warning("settler.retries", error=type(error).__name__, jobs=len(batch), wait=wait)
                await asyncio.sleep(wait)
                wait = min(wait * 2, 2.0)
