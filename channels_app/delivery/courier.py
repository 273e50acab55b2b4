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
from channels_app.delivery.measure import measure
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled, disable, settle
from channels_app.delivery.settler import Settler
from channels_app.delivery.slots import next_slots
from channels_app.delivery.webhook import send
from channels_app.reasons import Reason

log = structlog.get_logger(__name__)

RUN_SECONDS = 1.0
MOST_CLAIMED = 100
# How long a run waits for a slot: a little longer than outcomes take to be settled.
FULL_SECONDS = 0.05
_KEEP_SLOTS = "UPDATE consumer_state SET slots = %s WHERE consumer_id = %s"


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
        self._settler = Settler(self._settle, self._release)
        self._carried: set[asyncio.Task[None]] = set()
        # By consumer: tries under way or not yet settled, what they came to, and a sign that one was settled.
        self._in_hand: Counter[int] = Counter()
        self._seen: dict[int, list[Outcome]] = {}
        self._freed: dict[int, asyncio.Event] = {}
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
        # Read before the row: what is settled in between then counts as free too late, and never too early.
        in_hand = self._in_hand[consumer_id]
        try:
            async with self.pool.connection() as held, held.transaction():
                target = await lock(held, consumer_id)
                if target is None:
                    return Run.DONE
                slots = self._learned(target)
                ended = await self._run(target, slots, elsewhere=max(0, target.in_flight - in_hand))
                if slots != target.slots:
                    await held.execute(_KEEP_SLOTS, (slots, consumer_id))
                return ended
        except errors.LockNotAvailable:
            return Run.TAKEN

    def _learned(self, target: Target) -> int:
        """The slots after what was seen since the last run, the tries among it that outlived theirs."""
        seen = self._seen.pop(target.consumer_id, [])
        return min(next_slots(target.slots, seen, most=target.max_in_flight), target.max_in_flight)

    async def _run(self, target: Target, slots: int, elsewhere: int) -> Run:
        deadline = asyncio.get_running_loop().time() + RUN_SECONDS
        freed = self._freed.setdefault(target.consumer_id, asyncio.Event())
        while asyncio.get_running_loop().time() < deadline:
            freed.clear()
            free = slots - elsewhere - self._in_hand[target.consumer_id]
            if free > 0 and not await self._take(target, min(free, MOST_CLAIMED)):
                return Run.DONE
            try:
                await asyncio.wait_for(freed.wait(), FULL_SECONDS)
            except TimeoutError:
                # An answer will ring. Until then the worker's thread is for other consumers.
                self._hungry.add(target.consumer_id)
                return Run.FULL
        return Run.AGAIN

    async def _take(self, target: Target, most: int) -> bool:
        """Claims and sends off; says whether there may be more."""
        async with self.pool.connection() as connection:
            jobs = await claim(connection, target, most)
        for job in jobs:
            self._in_hand[target.consumer_id] += 1
            task = asyncio.create_task(self._carry(target, job))
            self._carried.add(task)
            task.add_done_callback(self._carried.discard)
        return len(jobs) == most

    async def _carry(self, target: Target, job: Job) -> None:
        """Whatever happens, the try has an outcome: without one its slot would be lost."""
        try:
            outcome = await send(self.session, target, job)
        except asyncio.CancelledError:
            outcome = Outcome(reason=None, released=True)
        except Exception as error:
            log.exception("delivery.surprise", job=job.job_id)
            outcome = Outcome(reason=Reason.PROTOCOL, error=type(error).__name__)
        self._settler.put(Settled.of(target, job, outcome))

    async def _settle(self, batch: list[Settled]) -> None:
        async with self.pool.connection() as connection:
            await settle(connection, batch)
        measure(batch)
        for wait in {one.verdict.wait_seconds for one in batch if one.verdict.wait_seconds}:
            self.promote_in(wait)
        gone = {one.target.consumer_id for one in batch if one.outcome.gone}
        if gone:
            await self._disable(gone)

    async def _disable(self, consumer_ids: set[int]) -> None:
        """Apart from settling: a run of this consumer may hold its state row for a second."""
        task = asyncio.create_task(self._write_disabled(consumer_ids))
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)

    async def _write_disabled(self, consumer_ids: set[int]) -> None:
        async with self.pool.connection() as connection:
            await disable(connection, consumer_ids)

    def _release(self, batch: list[Settled]) -> None:
        """The batch is over, written or given up: its slots are free."""
        for one in batch:
            consumer_id = one.target.consumer_id
            self._in_hand[consumer_id] -= 1
            self._seen.setdefault(consumer_id, []).append(one.outcome)
            if consumer_id in self._freed:
                self._freed[consumer_id].set()
        for consumer_id in {one.target.consumer_id for one in batch} & self._hungry:
            self._hungry.discard(consumer_id)
            self.ring(consumer_id)
