"""Delivers to one consumer for at most a second at a time: claim, send, refill the slots that free up.

One courier per worker process, with one event loop for all its consumers. A slow consumer holds only its own slots:
a turn ends when its second is over, its tries go on, and the next turn begins when one of them has ended.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

import aiohttp
import structlog
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from channels_app.delivery import failures, standing
from channels_app.delivery.claim import LEASE_MARGIN_SECONDS, MOST_BYTES, Job, claim
from channels_app.delivery.measure import measure
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled, settle
from channels_app.delivery.settler import Settler
from channels_app.delivery.target import Target, count_in_flight, read_target, turn_at
from channels_app.delivery.turn import Hand, Turn
from channels_app.delivery.webhook import send
from channels_app.reasons import Reason

log = structlog.get_logger(__name__)

TURN_SECONDS = 1.0
# Other processes have tries under way in all its slots: their answers ring for them, not for us.
HELD_UP_SECONDS = 0.05
PAUSE_SECONDS = 0.005
# Payloads of all consumers together that a process holds.
MOST_BYTES_IN_HAND = 64 * 1024 * 1024


class Ended(NamedTuple):
    """How a turn ended: in how many seconds to ring again (None: no need), or for want of work, or of a free slot.

    `is_full`: a slot is freed by an acknowledgement, which rings.
    """

    ring_in: float | None
    is_drained: bool = False
    is_hungry: bool = False
    is_full: bool = False


NO_NEED = Ended(None)
DRAINED = Ended(None, is_drained=True)
HUNGRY = Ended(None, is_hungry=True)
FULL = Ended(None, is_full=True)


@dataclass
class Courier:
    pool: AsyncConnectionPool
    session: aiohttp.ClientSession
    ring: Callable[[int], None]
    promote_in: Callable[[float], None]

    def __post_init__(self) -> None:
        self._settler = Settler(self._settle, self._release)
        self._tasks: set[asyncio.Task[None]] = set()
        self._hands: defaultdict[int, Hand] = defaultdict(Hand)
        self._bytes_in_hand = 0
        # Consumers whose breaker has something to forget: a success of others need not be written down.
        self._failing: set[int] = set()

    async def start(self) -> None:
        self._settler.start()

    async def stop(self, grace_seconds: float) -> None:
        """Lets tries end for a while; what is cut short then is released, not failed."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._settler.stop()

    async def deliver(self, consumer_id: int) -> Ended:
        """One turn; of two in this process the second is the first's next."""
        hand = self._hands[consumer_id]
        if hand.has_turn:
            hand.is_rung = True
            return NO_NEED
        if hand.is_hungry:
            # Nothing has changed: the next answer rings.
            return HUNGRY
        hand.has_turn, hand.is_rung, hand.must_stop = True, False, False
        try:
            ended = await self._turn(consumer_id, hand)
        finally:
            hand.has_turn = False
        return Ended(0.0) if hand.is_rung else ended

    async def _turn(self, consumer_id: int, hand: Hand) -> Ended:
        # Read before the rows: what is settled in between counts as free too late, and never too early.
        unsettled = hand.unsettled
        async with self.pool.connection() as connection, turn_at(connection, consumer_id) as is_ours:
            if not is_ours:
                # Whoever has it looks once more after its end: what we were rung for is found by that look.
                return NO_NEED
            target = await read_target(connection, consumer_id)
            if target is None or target.is_open:
                return NO_NEED
            if target.streak:
                self._failing.add(consumer_id)
            turn = Turn(target, hand, now=asyncio.get_running_loop().time())
            turn.elsewhere = _elsewhere(turn, hand, target.in_flight, unsettled)
            if target.is_half_open:
                await self._probe(connection, turn, hand)
                return NO_NEED
            return await self._run(connection, turn, hand)

    def is_hungry(self, consumer_id: int) -> bool:
        return self._hands[consumer_id].is_hungry

    async def _run(self, connection: AsyncConnection, turn: Turn, hand: Hand) -> Ended:
        ended = await self._send_while_there_is_room(connection, turn, hand)
        if turn.has_news:
            tokens = turn.rate.tokens if turn.rate.per_second else None
            await standing.keep(connection, turn.target.consumer_id, slots=turn.slots, tokens=tokens)
        return ended

    async def _send_while_there_is_room(self, connection: AsyncConnection, turn: Turn, hand: Hand) -> Ended:
        loop = asyncio.get_running_loop()
        deadline, paused = loop.time() + TURN_SECONDS, 0.0
        while loop.time() < deadline:
            if hand.is_closed:
                return NO_NEED
            if turn.elsewhere or turn.target.awaits_acks:
                unsettled = hand.unsettled
                in_flight = await count_in_flight(connection, turn.target.consumer_id)
                turn.elsewhere = _elsewhere(turn, hand, in_flight, unsettled)
            room = turn.room(loop.time()) if self._bytes_in_hand < MOST_BYTES_IN_HAND else 0
            if room >= (1 if paused else turn.worth):
                if not await self._take(connection, turn, room):
                    return DRAINED
                paused = 0.0
            elif turn.is_spent:
                return Ended(turn.rate.wait_seconds)
            elif paused >= turn.patience_seconds and turn.target.awaits_acks and turn.is_full:
                return FULL
            elif paused >= turn.patience_seconds:
                # Held up by others, it would wait for an answer of its own in vain.
                hand.is_hungry = hand.under_way > 0
                return HUNGRY if hand.is_hungry else Ended(HELD_UP_SECONDS)
            else:
                await asyncio.sleep(PAUSE_SECONDS)
                paused += PAUSE_SECONDS
        return Ended(0.0)

    async def _probe(self, connection: AsyncConnection, turn: Turn, hand: Hand) -> None:
        """The breaker's time is over: one job shows whether the consumer is back. Its outcome moves the breaker."""
        if hand.under_way or not turn.room(asyncio.get_running_loop().time()):
            return
        self._failing.add(turn.target.consumer_id)
        await self._take(connection, turn, 1)
        if hand.under_way:
            seconds = turn.target.timeout_seconds + LEASE_MARGIN_SECONDS
            await standing.hold_for_probe(connection, turn.target.consumer_id, seconds=seconds)

    async def _take(self, connection: AsyncConnection, turn: Turn, room: int) -> bool:
        """Claims and sends off; says whether there may be more."""
        left = MOST_BYTES_IN_HAND - self._bytes_in_hand
        claimed = await claim(connection, turn.target, most=room, most_bytes=min(MOST_BYTES, left))
        hand = self._hands[turn.target.consumer_id]
        turn.rate.spend(len(claimed.jobs))
        for job in claimed.jobs:
            hand.under_way += 1
            hand.unsettled += 1
            self._bytes_in_hand += job.size
            self._begin(self._carry(turn.target, hand, job))
        return claimed.more

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, target: Target, hand: Hand, job: Job) -> None:
        outcome = await self._outcome(target, job)
        hand.answered(outcome)
        self._bytes_in_hand -= job.size
        self._settler.put(Settled.of(target, job, outcome))
        if hand.is_hungry:
            hand.is_hungry = False
            self.ring(target.consumer_id)

    async def _outcome(self, target: Target, job: Job) -> Outcome:
        """Whatever happens, the try has an outcome: without one its slot would be lost."""
        if time.monotonic() - job.claimed_at > LEASE_MARGIN_SECONDS:
            # This process was held up; its lease may end before an answer comes.
            return Outcome(reason=None, released=True)
        if job.is_expired:
            return Outcome(reason=Reason.EXPIRED, error="Older than its channel's maxAgeSeconds, or than its own ttl.")
        try:
            return await send(self.session, target, job)
        except asyncio.CancelledError:
            return Outcome(reason=None, released=True)
        except Exception as error:
            log.exception("delivery.surprise", job=job.job_id)
            return Outcome(reason=Reason.PROTOCOL, error=type(error).__name__)

    async def _settle(self, batch: list[Settled]) -> None:
        gone = {one.target.consumer_id for one in batch if one.outcome.gone}
        async with self.pool.connection() as connection:
            if gone:
                # First: a batch that is written again, after a connection was lost, moves nothing the second time.
                await standing.disable(connection, gone)
            moved = await settle(connection, batch)
            # What was taken back from us meanwhile is another's to tell of.
            ours = [one for one in batch if one.job.job_id in moved]
            await self._count(connection, ours)
        measure(ours)
        for wait in {one.verdict.wait_seconds for one in ours if one.verdict.wait_seconds}:
            self.promote_in(wait)
        failures.tell(ours)

    async def _count(self, connection: AsyncConnection, batch: list[Settled]) -> None:
        """The breakers of those who fail, or did so before: the others cost nothing."""
        tries: defaultdict[int, list[tuple[int, bool]]] = defaultdict(list)
        for one in batch:
            if one.target.circuit_breaker and one.is_try:
                tries[one.target.consumer_id].append((one.job.job_id, one.outcome.speaks_for_consumer))
        self._failing |= {k for k, seen in tries.items() if not all(ok for _, ok in seen)}
        counted = {k: seen for k, seen in tries.items() if k in self._failing}
        if not counted:
            return
        for consumer_id, (before, after) in (await standing.count_tries(connection, counted)).items():
            if after.streak == 0:
                self._failing.discard(consumer_id)
            if before.is_open and not after.is_open:
                log.info("breaker.closed", consumer_id=consumer_id)
                self.ring(consumer_id)
            elif after.is_open and not before.is_open:
                self._hands[consumer_id].must_stop = True
                log.warning("breaker.opened", consumer_id=consumer_id, failures=after.streak)

    def _release(self, batch: list[Settled]) -> None:
        """The batch is over, written or given up."""
        for one in batch:
            self._hands[one.target.consumer_id].settled(one.outcome)
        for consumer_id in {one.target.consumer_id for one in batch if one.target.awaits_acks and not one.outcome.ok}:
            # Its slot is free, and no acknowledgement will say so.
            self.ring(consumer_id)


def _elsewhere(turn: Turn, hand: Hand, in_flight: int, unsettled: int) -> int:
    """What is in flight and not in this process's hand. What waits for its acknowledgement is in nobody's."""
    return max(0, in_flight - (hand.under_way if turn.target.awaits_acks else unsettled))
