"""One subscriber on its stream: it is fed events as long as it has room, and its answers become acks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import structlog
from dapr.proto.runtime.v1.appcallback_pb2 import TopicEventRequest, TopicEventResponse
from dapr.proto.runtime.v1.pubsub_pb2 import SubscribeTopicEventsRequestProcessedAlpha1
from django.conf import settings
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.lib.errors import BrokerError
from channels_app.api.pull import acks
from channels_app.api.pull.waiting import desk
from channels_app.pull.ack import Batch
from channels_app.pull.extend import Extension, extend
from channels_app.pull.fold import Ack, AckStatus, Result
from channels_app.pull.lease import Ask, Leased
from scheduling_app.grpc.events import event_of
from scheduling_app.grpc.held import Held, key_of
from scheduling_app.grpc.places import Place

log = structlog.get_logger(__name__)

# A lease is renewed for as long as its stream lives; if this process dies, it ends by itself.
LEASE_SECONDS, RENEW_SECONDS = 60.0, 15.0
WAIT_SECONDS = 20.0
# An SDK takes 4 MiB at a time, if it is not told otherwise.
MOST_BYTES = 4 * 1024 * 1024
# On a stream's hands at a time, of which it is told that there is room for the next when half has been answered for.
MOST_HELD_BYTES = 4 * MOST_BYTES
# An answer that cannot be written now is tried again, and when the stream has ended, for so long.
AGAIN_SECONDS, LAST_SECONDS = 0.5, 10.0
BUSY = 503
BROKE = "The stream broke before the subscriber answered"
_MEANT = {
    TopicEventResponse.SUCCESS: AckStatus.COMPLETE,
    TopicEventResponse.RETRY: AckStatus.FAILED,
    TopicEventResponse.DROP: AckStatus.REFUSED,
}

Send = Callable[[TopicEventRequest], Awaitable[None]]
Check = Callable[[], Awaitable[None]]


class Subscriber:
    """`peer` is shown as the device that has the jobs. `is_raw`: it wants what was stored, whatever that is."""

    def __init__(self, place: Place, *, peer: str, is_raw: bool) -> None:
        self.place = place
        self.held = Held(settings.SUBSCRIPTION_EVENTS, MOST_HELD_BYTES)
        self._peer, self._is_raw = peer, is_raw
        # What it has answered for, until that is written down.
        self._acking: dict[asyncio.Task[None], Leased] = {}

    async def feed(self, send: Send, check: Check) -> None:
        """For ever. `check` raises when it may go on no more."""
        while True:
            await self.held.has_room.wait()
            # Nothing of what was sent is kept here while the next is waited for.
            await self._hand_out(await self._leased(), send, check)

    async def _leased(self) -> list[Leased]:
        jobs = await desk().ask(self._ask(), wait_seconds=WAIT_SECONDS, gone=asyncio.Event())
        # At once: whatever happens now, they go back when the stream ends.
        self.held.add(jobs)
        return jobs

    async def _hand_out(self, jobs: list[Leased], send: Send, check: Check) -> None:
        await check()
        for job in jobs:
            event = event_of(job, self.place, is_raw=self._is_raw)
            # Before it goes: the answer may be here before we are told that it has gone.
            if self.held.goes(event.id, job):
                await send(event)

    def answer(self, answered: SubscribeTopicEventsRequestProcessedAlpha1) -> None:
        job = self.held.take(answered.id)
        if job is None:
            log.warning("subscription.unknown_event", topic=self.place.topic, consumer=self.place.app_id)
            return
        # What nobody knows is an error of the application: the event is tried again.
        status = _MEANT.get(answered.status.status, AckStatus.FAILED)
        error = "" if status is AckStatus.COMPLETE else "The subscriber answered " + _word(answered.status.status)
        self._say(job, status, error)

    def blame(self) -> None:
        """The stream broke. Events are read in their order: the first without an answer may have broken it.

        If it has come back without a failure before, it gets one now, or it would break every stream there is.
        """
        job = self.held.first_sent
        if job is not None and job.attempt - job.failures > 1:
            self.held.forget([key_of(job)])
            self._say(job, AckStatus.FAILED, BROKE)

    async def keep(self) -> None:
        """For ever: what is held stays so."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if jobs := [*self.held.jobs, *self._acking.values()]:
                await self._renew(jobs)

    async def end(self) -> None:
        """Its last acks are waited for; what it has not answered for goes to the next."""
        if self._acking:
            await asyncio.wait(self._acking, timeout=LAST_SECONDS)
        for task in self._acking:
            task.cancel()
        await desk().give_back(self.held.jobs)

    def _ask(self) -> Ask:
        consumer, most_bytes = self.place.consumer, min(MOST_BYTES, self.held.room_bytes)
        return Ask(consumer.row_id, consumer.cap, self.held.room, LEASE_SECONDS, most_bytes, self._peer)

    def _say(self, job: Leased, status: AckStatus, error: str) -> None:
        said = Ack(job.job_id, status, attempt=job.attempt, device_id=self._peer, error=error)
        task = asyncio.create_task(self._acknowledge(said))
        self._acking[task] = job
        task.add_done_callback(self._acked)

    def _acked(self, task: asyncio.Task[None]) -> None:
        del self._acking[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("subscription.cannot_acknowledge", topic=self.place.topic, error=type(error).__name__)

    async def _acknowledge(self, said: Ack) -> None:
        """Until it is written: the application has done its work, and must not do it again for our sake."""
        while True:
            try:
                await acks.put(Batch(self.place.consumer.row_id, LEASE_SECONDS, [said]))
                return
            except BrokerError as error:
                log.warning("subscription.cannot_acknowledge", topic=self.place.topic, error=type(error).__name__)
                if error.status != BUSY:
                    # The lease ends, and the event comes again.
                    return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _renew(self, jobs: list[Leased]) -> None:
        wanted = [Extension(job.job_id, job.attempt, LEASE_SECONDS) for job in jobs]
        try:
            async with door_pool().connection() as connection:
                extended = await extend(connection, self.place.consumer.row_id, wanted)
        except (psycopg.Error, PoolTimeout) as error:
            # There is time for another try before the leases end.
            log.warning("subscription.cannot_renew", error=type(error).__name__, jobs=len(jobs))
            return
        pairs: Any = zip(jobs, extended, strict=True)
        self.held.forget(key_of(job) for job, one in pairs if one.result is not Result.APPLIED)


def _word(status: int) -> str:
    return TopicEventResponse.TopicEventResponseStatus.Name(status) if status in _MEANT else f"status {status}"
