"""Delivers to one consumer for at most a second at a time: claim, send, refill the slots that free up.

One courier per worker process, with one event loop for all its consumers. A slow consumer holds only its own slots:
a run ends when its second is over, its tries go on, and the next run begins when one of them has ended.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import aiohttp
import structlog
from psycopg import errors
from psycopg_pool import AsyncConnectionPool

from channels_app.delivery.claim import Job, Target, claim, lock
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled, settle
from channels_app.delivery.settler import Settler
from channels_app.delivery.slots import next_slots
from channels_app.delivery.webhook import send

log = structlog.get_logger(__name__)

RUN_SECONDS = 1.0
MOST_CLAIMED = 100
# After the first answer, a moment for others to come in: one claim then refills several slots.
GATHER_SECONDS = 0.003


class Run(Enum):
    """How a run ended."""

    DONE = auto()  # nothing is ready any more
    AGAIN = auto()  # its second is over, there is more
    FULL = auto()  # no slot is free; an answer will ring
    TAKEN = auto()  # another process delivers to this consumer


@dataclass
class Courier:
    pool: AsyncConnectionPool
    session: aiohttp.ClientSession
    ring: Callable[[int], None]
    promote_in: Callable[[float], None]

    def __post_init__(self) -> None:
        self._settler = Settler(self._settle)
        self._carried: set[asyncio.Task[Settled]] = set()
        self._in_hand: Counter[int] = Counter()
        self._hungry: set[int] = set()

    async def start(self) -> None:
        self._settler.start()

    async def stop(self, grace_seconds: float) -> None:
        """Lets tries end for a while; what is cut short then is released, not failed."""
        if self._carried:
            await asyncio.wait(self._carried, timeout=grace_seconds)
        for task in self._carried:
            task.cancel()
        await asyncio.gather(*self._carried, return_exceptions=True)
        await self._settler.stop()

    async def deliver(self, consumer_id: int) -> Run:
        try:
            async with self.pool.connection() as held, held.transaction():
                target = await lock(held, consumer_id)
                if target is None:
                    return Run.DONE
                ended, slots = await self._run(target)
                if slots != target.slots:
                    await held.execute(
                        "UPDATE consumer_state SET slots = %s WHERE consumer_id = %s", (slots, consumer_id)
                    )
        except errors.LockNotAvailable:
            return Run.TAKEN
        if ended is Run.FULL:
            self._hungry.add(consumer_id)
        return ended

    async def _run(self, target: Target) -> tuple[Run, int]:
        slots = min(target.slots, target.max_in_flight)
        elsewhere = max(0, target.in_flight - self._in_hand[target.consumer_id])
        deadline = asyncio.get_running_loop().time() + RUN_SECONDS
        mine: set[asyncio.Task[Settled]] = set()
        while True:
            free = slots - elsewhere - self._in_hand[target.consumer_id]
            if free <= 0 and not mine:
                return Run.FULL, slots
            if free > 0 and not await self._take(target, min(free, MOST_CLAIMED), mine):
                return Run.DONE, slots
            wait = deadline - asyncio.get_running_loop().time()
            if wait <= 0:
                return Run.AGAIN, slots
            ended, mine = await asyncio.wait(mine, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(GATHER_SECONDS)
            slots = next_slots(slots, [task.result().outcome for task in ended], most=target.max_in_flight)

    async def _take(self, target: Target, most: int, mine: set[asyncio.Task[Settled]]) -> bool:
        """Claims and sends off; says whether there may be more."""
        async with self.pool.connection() as connection:
            jobs = await claim(connection, target, most)
        for job in jobs:
            self._in_hand[target.consumer_id] += 1
            task = asyncio.create_task(self._carry(target, job))
            self._carried.add(task)
            task.add_done_callback(self._carried.discard)
            mine.add(task)
        return len(jobs) == most

    async def _carry(self, target: Target, job: Job) -> Settled:
        try:
            outcome = await send(self.session, target, job)
        except asyncio.CancelledError:
            outcome = Outcome(reason=None, released=True)
        settled = Settled.of(target, job, outcome)
        self._settler.put(settled)
        return settled

    async def _settle(self, batch: list[Settled]) -> None:
        async with self.pool.connection() as connection:
            await settle(connection, batch)
        for one in batch:
            self._in_hand[one.target.consumer_id] -= 1
        for wait in {one.verdict.wait_seconds for one in batch if one.verdict.wait_seconds}:
            self.promote_in(wait)
        for consumer_id in {one.target.consumer_id for one in batch} & self._hungry:
            self._hungry.discard(consumer_id)
            self.ring(consumer_id)
