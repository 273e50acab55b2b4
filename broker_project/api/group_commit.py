"""Requests that arrive together share one statement and one commit; each waits for its own outcome."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from broker_project.lib.errors import BrokerError

log = structlog.get_logger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

# SQLSTATE classes of a row that cannot be stored: data exception, integrity violation.
_ROW_IS_BAD = ("22", "23")
# Of a transaction that lost against another: it was rolled back, surely, and is tried again.
_IN_THE_WAY = "40"
HELP_SECONDS = 0.02
MOST_WAITING_BYTES = 64 * 1024 * 1024


class DoorFull(BrokerError):
    """More arrives than can be stored. Nothing was stored; try again."""

    status = 503


class OutcomeUnknown(BrokerError):
    """The database was lost while this was being stored: it may be there or not. Send it again with the same id."""

    status = 503


class RowRefused(BrokerError):
    """The database cannot store this."""


class GroupCommit(Generic[Item, Result]):
    """A bounded queue and a few writers. While one write is under way the next group gathers.

    `write` stores a group in one transaction and returns an outcome per item, in order.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        size_of: Callable[[Item], int],
        writers: int = 2,
        max_items: int = 500,
        max_bytes: int = 8 * 1024 * 1024,
        max_waiting: int = 10_000,
    ) -> None:
        self._write, self._size_of = write, size_of
        self._writers, self._max_items, self._max_bytes, self._max_waiting = writers, max_items, max_bytes, max_waiting
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        waits = [0.0] + [HELP_SECONDS] * (self._writers - 1)
        self._tasks = [asyncio.create_task(self._work(wait)) for wait in waits]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def submit(self, item: Item) -> Result:
        """The item's own outcome. A caller that goes away takes nothing back and holds nobody up."""
        return await self.put(item)

    def put(self, item: Item) -> asyncio.Future[Result]:
        if len(self._waiting) >= self._max_waiting or self._waiting_bytes >= MOST_WAITING_BYTES:
            raise DoorFull
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._waiting_bytes += self._size_of(item)
        self._arrived.set()
        return future

    async def _work(self, patience_seconds: float) -> None:
        """One writer makes the largest groups; the others step in when it is held up."""
        while True:
            await self._arrived.wait()
            if patience_seconds:
                await asyncio.sleep(patience_seconds)
            group = self._take()
            if group:
                await self._store(group)

    def _take(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        group: list[tuple[Item, asyncio.Future[Result]]] = []
        size = 0
        while self._waiting and len(group) < self._max_items and size < self._max_bytes:
            group.append(self._waiting.popleft())
            size += self._size_of(group[-1][0])
        self._waiting_bytes -= size
        if not self._waiting:
            self._arrived.clear()
        return group

    async def _store(self, group: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        """One bad row never fails its neighbours: the group is halved until the row stands alone."""
        try:
            outcomes = await self._write([item for item, _ in group])
        except PoolTimeout:
            _refuse(group, DoorFull())
            return
        except psycopg.Error as error:
            if (error.sqlstate or "")[:2] == _IN_THE_WAY:
                await self._store(group)
            elif (error.sqlstate or "")[:2] not in _ROW_IS_BAD:
                log.error("group_commit.failed", error=type(error).__name__, items=len(group))
                _refuse(group, OutcomeUnknown())
            elif len(group) == 1:
                _refuse(group, RowRefused())
            else:
                middle = len(group) // 2
                await self._store(group[:middle])
                await self._store(group[middle:])
            return
        except Exception as error:  # every waiter must hear of it, whatever it is
            log.exception("group_commit.surprise", items=len(group))
            _refuse(group, error)
            return
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)


def _refuse(group: list[tuple[Item, asyncio.Future[Result]]], error: Exception) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
