"""The broker, for asyncio: each method carries out the flow it is named after."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from broker_client import holding, indexed, publishing, pulling, reading, registering, scheduled
from broker_client.caller import Caller
from broker_client.errors import BrokerError
from broker_client.flow import Answer, Flow, Request
from broker_client.held import Held
from broker_client.identity import Identity
from broker_client.retries import persistent
from broker_client.wire import answer_of, sent_as

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("broker_client")


def _call(
    flow: Callable[Concatenate[Identity, P], Flow[T]],
) -> "Callable[Concatenate[AsyncBroker, P], Coroutine[Any, Any, T]]":
    """A method that carries this flow out."""

    @wraps(flow)
    async def method(self: "AsyncBroker", /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._carry_out(flow(self._identity, *arguments, **named))

    return method


class AsyncBroker(Caller):
    """For one event loop. Close it, or use it in an `async with`."""

    _http: httpx.AsyncClient

    publish = _call(publishing.publish)
    publish_batch = _call(publishing.publish_batch)

    scheduled_message = _call(scheduled.scheduled_message)
    cancel = _call(scheduled.cancel)
    reschedule = _call(scheduled.reschedule)
    dispatch_now = _call(scheduled.dispatch_now)

    put_producer = _call(registering.put_producer)
    put_channel = _call(registering.put_channel)
    put_consumer = _call(registering.put_consumer)
    producer = _call(registering.producer)
    channel = _call(registering.channel)
    consumer = _call(registering.consumer)
    delete_consumer = _call(registering.delete_consumer)

    message = _call(reading.message)
    task = _call(reading.task)
    job = _call(reading.job)
    peek = _call(reading.peek)

    lease = _call(pulling.lease)
    acknowledge = _call(pulling.acknowledge)
    extend = _call(pulling.extend)
    release = _call(pulling.release)
    reject = _call(pulling.reject)

    poll = _call(indexed.poll)
    message_at = _call(indexed.message_at)
    ack_index = _call(indexed.ack_index)
    ack_up_to = _call(indexed.ack_up_to)
    seek = _call(indexed.seek)

    @asynccontextmanager
    async def leasing(
        self, channel: str, consumer: str, *, limit: int = 25, lease_seconds: float = 60.0, wait_seconds: float = 0.0
    ) -> AsyncIterator[Held]:
        """Jobs that stay yours while the body works. At the end what is done is told, and the rest is given back."""
        jobs = await self.lease(channel, consumer, limit=limit, lease_seconds=lease_seconds, wait_seconds=wait_seconds)
        held = Held(channel, consumer, lease_seconds=lease_seconds, jobs=jobs)
        heart = asyncio.create_task(self.keep(held))
        try:
            yield held
        finally:
            heart.cancel()
            await asyncio.wait({heart})
            await self.wind_up(held)

    # What a worker needs of a lease, one by one.
    report = _call(holding.report)
    give_back = _call(holding.give_back)
    wind_up = _call(holding.wind_up)
    _beat = _call(holding.beat)

    async def keep(self, held: Held) -> None:
        """The heartbeat, until it is cancelled."""
        while True:
            await asyncio.sleep(held.lease_seconds / 3)
            try:
                await self._beat(held)
            except BrokerError as error:
                log.warning("Heartbeat for %s/%s: %s", held.channel, held.consumer, error)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncBroker":
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    def _open(self) -> None:
        self._http = httpx.AsyncClient(**self._settings())

    async def _carry_out(self, flow: Flow[T]) -> T:
        insisting = persistent(flow, self._retries)
        try:
            request = next(insisting)
            while True:
                request = insisting.send(await self._send(request))
        except StopIteration as ended:
            value: T = ended.value
            return value
        finally:
            insisting.close()

    async def _send(self, request: Request) -> Answer:
        await asyncio.sleep(request.after_seconds)
        try:
            return answer_of(await self._http.request(**sent_as(request, self._timeout_seconds)))
        except httpx.RequestError as error:
            return Answer(0, failure=type(error).__name__)
