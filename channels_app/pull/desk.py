"""Where those who wait for jobs stand in line: one line per consumer, served one after another.

Who waits costs a future and a timer: no thread, no connection. A line is looked at when somebody comes, when its
consumer is hinted at, and once a second, all lines by one statement.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from channels_app.pull.lease import Ask, Leased

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0


@dataclass
class Waiter:
    """One who asks. `has_left`: what it is given now goes back."""

    ask: Ask
    until: float
    answer: asyncio.Future[list[Leased]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    has_left: bool = False
    is_served: bool = False

    def give(self, jobs: list[Leased]) -> None:
        if not self.answer.done():
            self.answer.set_result(jobs)


@dataclass
class Line:
    """Of one consumer. It has a server while somebody stands in it."""

    waiters: deque[Waiter] = field(default_factory=deque)
    hinted: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Desk:
    """`lease` takes jobs, `release` gives them back, `look` says which of these consumers have ready jobs."""

    lease: Callable[[Ask], Awaitable[list[Leased]]]
    release: Callable[[Sequence[Leased]], Awaitable[None]]
    look: Callable[[Sequence[int]], Awaitable[Iterable[int]]]

    def __post_init__(self) -> None:
        self._lines: dict[int, Line] = {}
        self._servers: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Nobody waits here any more."""
        return self._is_closed

    async def ask(self, ask: Ask, *, wait_seconds: float, gone: asyncio.Event) -> list[Leased]:
        """Jobs as soon as there are any; none when the wait is over, the client has left, or the desk closes."""
        waiter = Waiter(ask, until=asyncio.get_running_loop().time() + wait_seconds)
        self._stand(waiter)
        leaving = asyncio.create_task(gone.wait())
        try:
            both: set[asyncio.Future[Any]] = {waiter.answer, leaving}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return await self._leave(waiter) if gone.is_set() else waiter.answer.result()
        except asyncio.CancelledError:
            await self._leave(waiter)
            raise
        finally:
            leaving.cancel()

    def hint(self, consumer_ids: Iterable[int]) -> None:
        for consumer_id in consumer_ids:
            if consumer_id in self._lines:
                self._lines[consumer_id].hinted.set()

    def close(self) -> None:
        """Everybody is answered; who comes from now on does not wait."""
        self._is_closed = True
        self.hint(self._lines)

    async def finish(self) -> None:
        """Until nobody is being served: what a client who has left was given has gone back by then."""
        self.close()
        await asyncio.gather(*self._servers, return_exceptions=True)

    async def look_round(self) -> None:
        """The net under lost hints."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._lines:
                await self._look()

    async def _look(self) -> None:
        try:
            self.hint(await self.look(list(self._lines)))
        except Exception as error:  # noqa: BLE001
            # Whatever it was, it is looked again in a second; who waits is answered when the time is over.
            log.warning("desk.cannot_look", error=type(error).__name__)

    def _stand(self, waiter: Waiter) -> None:
        consumer_id = waiter.ask.consumer_id
        line = self._lines.get(consumer_id)
        if line is None:
            line = self._lines[consumer_id] = Line()
            server = asyncio.create_task(self._serve(consumer_id, line))
            self._servers.add(server)
            server.add_done_callback(self._servers.discard)
        line.waiters.append(waiter)
        line.hinted.set()

    async def _leave(self, waiter: Waiter) -> list[Leased]:
        """What comes of it goes back, before who leaves gives back other jobs: those would be given to it once more."""
        waiter.has_left = True
        if waiter.answer.done() and not waiter.answer.exception():
            await self.give_back(waiter.answer.result())
        elif waiter.is_served:
            await asyncio.wait({waiter.answer})
        return []

    async def _serve(self, consumer_id: int, line: Line) -> None:
        while line.waiters:
            waiter = line.waiters.popleft()
            if waiter.has_left:
                continue
            # Before the look: what comes after it is hinted at again.
            line.hinted.clear()
            waiter.is_served = True
            try:
                jobs = await self.lease(waiter.ask)
            except Exception as error:  # noqa: BLE001
                self._refuse([waiter, *line.waiters], error)
                line.waiters.clear()
                break
            if jobs:
                await self._hand_over(waiter, jobs)
            else:
                waiter.is_served = False
                line.waiters.appendleft(waiter)
                self._send_away(line)
                await self._rest(line)
        del self._lines[consumer_id]

    async def _hand_over(self, waiter: Waiter, jobs: list[Leased]) -> None:
        if waiter.has_left:
            await self.give_back(jobs)
            jobs = []
        waiter.give(jobs)

    async def give_back(self, jobs: Sequence[Leased]) -> None:
        if not jobs:
            return
        try:
            await self.release(jobs)
        except Exception as error:  # noqa: BLE001
            # Their leases end, and they come back by that.
            log.warning("desk.cannot_release", error=type(error).__name__, jobs=len(jobs))

    def _send_away(self, line: Line) -> None:
        """There is nothing: those whose time is over, or who have left, go; when the desk closes, everybody."""
        now = asyncio.get_running_loop().time()
        waiters, line.waiters = line.waiters, deque()
        for waiter in waiters:
            if self._is_closed or waiter.has_left or waiter.until <= now:
                waiter.give([])
            else:
                line.waiters.append(waiter)

    async def _rest(self, line: Line) -> None:
        """Until a hint; those whose time is over go meanwhile."""
        while line.waiters and not line.hinted.is_set():
            first = min(waiter.until for waiter in line.waiters)
            try:
                async with asyncio.timeout_at(first):
                    await line.hinted.wait()
            except TimeoutError:
                self._send_away(line)

    def _refuse(self, waiters: Iterable[Waiter], error: Exception) -> None:
        for waiter in waiters:
            if not waiter.answer.done():
                waiter.answer.set_exception(error)
