"""One consumer's part of a worker: leases, works, tells, and gives back what it did not get to."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from broker_client.async_broker import AsyncBroker
from broker_client.errors import BrokerError
from broker_client.handler import Handler
from broker_client.held import Held
from broker_client.pulling import MOST_ITEMS
from broker_client.retries import Retries
from broker_client.values import Job

T = TypeVar("T")

log = logging.getLogger("broker_client")

# How long it waits for a broker that is away grows to this.
AWAY = Retries(first_seconds=0.5, ceiling_seconds=30.0)
# A broker that is about to stop answers at once, and empty: it is not asked again and again.
REST_SECONDS = 0.2


class Attendant:
    """Until `stopping` is set, or the broker refuses for good."""

    def __init__(
        self,
        handler: Handler,
        broker: AsyncBroker,
        stopping: asyncio.Event,
        *,
        wait_seconds: float,
        grace_seconds: float,
    ) -> None:
        self._handler, self._broker, self._stopping = handler, broker, stopping
        self._wait_seconds, self._grace_seconds = wait_seconds, grace_seconds
        self._held = Held(handler.channel, handler.consumer, lease_seconds=handler.lease_seconds)
        self._slots = asyncio.Semaphore(handler.concurrency)
        self._tasks: dict[asyncio.Task[None], Job] = {}
        self._news = asyncio.Event()
        self._telling = asyncio.Lock()
        self._misses = 0

    async def serve(self) -> None:
        helpers = [asyncio.create_task(self._broker.keep(self._held)), asyncio.create_task(self._report())]
        for helper in helpers:
            # They end only by a mistake, and without them no work is safe.
            helper.add_done_callback(lambda _ended: self._stopping.set())
        try:
            while not self._stopping.is_set():
                await self._take()
        finally:
            # The others are to end too, if it is a refusal that ends this one.
            self._stopping.set()
            await self._finish_work()
            # Not in the middle of telling: what was heard would be told again.
            async with self._telling:
                for helper in helpers:
                    helper.cancel()
            await asyncio.wait(helpers)
            await self._give_back_the_rest()
        for helper in helpers:
            if not helper.cancelled():
                helper.result()

    async def _take(self) -> None:
        """Waits for room, then for jobs, and starts them."""
        room = self._handler.room - len(self._tasks)
        if room < 1:
            await self._unless_stopped(asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED))
            return
        jobs = await self._unless_stopped(self._lease(room)) or []
        self._held.add(jobs)
        for job in jobs:
            task = asyncio.create_task(self._work(job))
            self._tasks[task] = job
            task.add_done_callback(self._tasks.pop)

    async def _lease(self, room: int) -> list[Job]:
        handler, began = self._handler, time.monotonic()
        try:
            jobs = await self._broker.lease(
                handler.channel,
                handler.consumer,
                limit=min(room, MOST_ITEMS),
                lease_seconds=handler.lease_seconds,
                wait_seconds=self._wait_seconds,
            )
        except BrokerError as error:
            await self._wait_for_broker(error)
            return []
        self._misses = 0
        if not jobs and time.monotonic() - began < REST_SECONDS:
            await asyncio.sleep(REST_SECONDS)
        return jobs

    async def _wait_for_broker(self, error: BrokerError) -> None:
        if not error.is_passing:
            raise error
        wait = AWAY.wait_seconds(self._misses, error.retry_after_seconds)
        self._misses += 1
        log.warning("%s/%s: %s; again in %.1f s.", self._held.channel, self._held.consumer, error, wait)
        await asyncio.sleep(wait)

    async def _work(self, job: Job) -> None:
        async with self._slots:
            if self._stopping.is_set() or not self._held.holds(job):
                return
            try:
                with self._held.working(job):
                    self._news.set()
                    await self._handler(job)
            except Exception:
                log.exception("Job %s of %s/%s failed.", job.id, self._held.channel, self._held.consumer)
            finally:
                self._news.set()

    async def _report(self) -> None:
        """What comes while one batch is on its way is the next."""
        misses = 0
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                async with self._telling:
                    await self._broker.report(self._held)
                misses = 0
            except BrokerError as error:
                log.warning("Acknowledging for %s/%s: %s", self._held.channel, self._held.consumer, error)
                await asyncio.sleep(AWAY.wait_seconds(misses))
                misses += 1
                self._news.set()

    async def _finish_work(self) -> None:
        """Who has not begun goes back at once; who has gets time to end."""
        await self._quietly(self._broker.give_back(self._held, self._held.not_begun()))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._grace_seconds)
        for task in list(self._tasks):
            log.warning("Job %s did not end in time and is given back.", self._tasks[task].id)
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _give_back_the_rest(self) -> None:
        await self._quietly(self._broker.wind_up(self._held))

    async def _quietly(self, call: Coroutine[Any, Any, None]) -> None:
        """There is nobody left to tell; leases that stay end by themselves."""
        try:
            await call
        except BrokerError as error:
            log.warning("Ending %s/%s: %s", self._held.channel, self._held.consumer, error)

    async def _unless_stopped(self, call: Coroutine[Any, Any, T]) -> T | None:
        """Its result, or None when the worker stops first. A broker left before its answer takes back its jobs."""
        work, stop = asyncio.create_task(call), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        return None if work.cancelled() else work.result()
