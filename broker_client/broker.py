"""The broker, for code that waits: each method carries out the flow it is named after."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

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


def _call(flow: Callable[Concatenate[Identity, P], Flow[T]]) -> "Callable[Concatenate[Broker, P], T]":
    """A method that carries this flow out."""

    @wraps(flow)
    def method(self: "Broker", /, *arguments: P.args, **named: P.kwargs) -> T:
        return self._carry_out(flow(self._identity, *arguments, **named))

    return method


class Broker(Caller):
    """Safe for many threads. Close it, or use it in a `with`."""

    _http: httpx.Client

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

    @contextmanager
    def leasing(
        self, channel: str, consumer: str, *, limit: int = 25, lease_seconds: float = 60.0, wait_seconds: float = 0.0
    ) -> Iterator[Held]:
        """Jobs that stay yours while the body works. At the end what is done is told, and the rest is given back."""
        jobs = self.lease(channel, consumer, limit=limit, lease_seconds=lease_seconds, wait_seconds=wait_seconds)
        held, over = Held(channel, consumer, lease_seconds=lease_seconds, jobs=jobs), threading.Event()
        heart = threading.Thread(target=self._beat, args=(held, over), daemon=True, name="broker-heartbeat")
        heart.start()
        try:
            yield held
        finally:
            over.set()
            heart.join()
            self._carry_out(holding.wind_up(self._identity, held))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> None:
        self._http = httpx.Client(**self._settings())

    def _beat(self, held: Held, over: threading.Event) -> None:
        while not over.wait(held.lease_seconds / 3):
            try:
                self._carry_out(holding.beat(self._identity, held))
            except BrokerError as error:
                log.warning("Heartbeat for %s/%s: %s", held.channel, held.consumer, error)

    def _carry_out(self, flow: Flow[T]) -> T:
        insisting = persistent(flow, self._retries)
        try:
            request = next(insisting)
            while True:
                request = insisting.send(self._send(request))
        except StopIteration as ended:
            value: T = ended.value
            return value
        finally:
            insisting.close()

    def _send(self, request: Request) -> Answer:
        time.sleep(request.after_seconds)
        try:
            return answer_of(self._http.request(**sent_as(request, self._timeout_seconds)))
        except httpx.RequestError as error:
            return Answer(0, failure=type(error).__name__)
