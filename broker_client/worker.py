"""A worker: functions that are given jobs, until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

from broker_client.async_broker import AsyncBroker
from broker_client.attendant import Attendant
from broker_client.handler import Function, Handler
from broker_client.retries import Retries

F = TypeVar("F", bound=Function)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Worker:
    """`grace_seconds`: how long work under way may go on after a stop. `wait_seconds`: how long one long poll lasts."""

    def __init__(
        self,
        url: str,
        *,
        channel_tokens: Mapping[str, str] | None = None,
        consumer_tokens: Mapping[str, str] | None = None,
        device_id: str = "",
        grace_seconds: float = 30.0,
        wait_seconds: float = 20.0,
        retries: Retries | None = None,
    ) -> None:
        self._url, self._device_id, self._retries = url, device_id, retries
        self._channel_tokens, self._consumer_tokens = dict(channel_tokens or {}), dict(consumer_tokens or {})
        self._grace_seconds, self._wait_seconds = grace_seconds, wait_seconds
        self._handlers: list[Handler] = []
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def consumer(
        self,
        channel: str,
        *,
        consumer: str = "",
        token: str = "",
        channel_token: str = "",
        concurrency: int = 1,
        prefetch: int = 0,
        lease_seconds: float = 60.0,
    ) -> Callable[[F], F]:
        """The function below is given this consumer's jobs. A consumer without a name is called as the function is."""

        def register(function: F) -> F:
            name = consumer or function.__name__
            if token:
                self._consumer_tokens[f"{channel}/{name}"] = token
            if channel_token:
                self._channel_tokens[channel] = channel_token
            self._handlers.append(Handler(channel, name, function, concurrency, prefetch, lease_seconds))
            return function

        return register

    def run(self) -> None:
        """Until SIGTERM, SIGINT or `stop()`. A refusal for good (a wrong token, an unknown consumer) is raised."""
        asyncio.run(self.serve())

    def stop(self) -> None:
        """From any thread: no more leases; work under way may end, everything else is given back."""
        if self._loop and self._stopping:
            # Closed: it has stopped already.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def serve(self) -> None:
        """As `run`, in a loop of your own."""
        if not self._handlers:
            raise ValueError("A worker needs a function with @app.consumer(…).")
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with self._broker() as broker:
            with self._heeding_signals():
                attendants = [self._attendant(handler, broker) for handler in self._handlers]
                ends = await asyncio.gather(*(one.serve() for one in attendants), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    def _broker(self) -> AsyncBroker:
        return AsyncBroker(
            self._url,
            channel_tokens=self._channel_tokens,
            consumer_tokens=self._consumer_tokens,
            device_id=self._device_id,
            retries=self._retries,
        )

    def _attendant(self, handler: Handler, broker: AsyncBroker) -> Attendant:
        assert self._stopping is not None
        return Attendant(
            handler, broker, self._stopping, wait_seconds=self._wait_seconds, grace_seconds=self._grace_seconds
        )

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        """Where signals can be heard: not in a thread beside the main one, not on every system."""
        with suppress(RuntimeError, ValueError, NotImplementedError):
            for number in STOP_SIGNALS:
                self._on(number)
        try:
            yield
        finally:
            self._forget_signals()

    def _on(self, number: signal.Signals) -> None:
        assert self._loop is not None
        self._loop.add_signal_handler(number, self._stop_by_signal)

    def _stop_by_signal(self) -> None:
        """A second one ends the process, as it would without us."""
        self._forget_signals()
        self.stop()

    def _forget_signals(self) -> None:
        assert self._loop is not None
        with suppress(RuntimeError, ValueError, NotImplementedError):
            for number in STOP_SIGNALS:
                self._loop.remove_signal_handler(number)
