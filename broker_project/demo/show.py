"""The show: builds the stage, lets everybody play until it is to stop, and leaves the broker quiet."""

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from broker_client import AsyncBroker, BrokerError
from broker_project.demo import errands, pulling, readings, sending, stage
from broker_project.demo.desk import Desk
from broker_project.demo.receiving import Receiving, receiving
from broker_project.demo.screen import Places, Screen, ending, opening
from broker_project.demo.tally import Tally

# A broker that is just starting gets so long.
START_SECONDS = 60.0
# How long what is under way may take to arrive after the end.
SETTLE_SECONDS = 8.0
LOOK_EVERY_SECONDS = 5
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Wishes:
    rate: float
    seed: int
    # None: until it is stopped.
    seconds: float | None
    # The part of all message ids that is of this run alone.
    run: str


@dataclass
class Show:
    """Everybody who plays, and what they have done so far."""

    desk: Desk
    receiver: Receiving
    sender: sending.Sender
    runner: errands.Runner
    tally: Tally
    stopping: asyncio.Event

    async def play(self, wishes: Wishes, screen: Screen) -> None:
        """A second at a time. One that was slept through, as on a laptop, is not made up for."""
        loop = asyncio.get_running_loop()
        began, number = loop.time(), 0
        watching = asyncio.create_task(self._watch())
        while not self._is_over(loop.time() - began, wishes):
            self.sender.begin(number, rate=wishes.rate, seed=wishes.seed)
            self.runner.begin(number)
            screen.update(self.tally.line(loop.time() - began), number)
            number = max(number + 1, int(loop.time() - began))
            await wait(self.stopping, began + number - loop.time())
        watching.cancel()

    def _is_over(self, elapsed_seconds: float, wishes: Wishes) -> bool:
        is_late = wishes.seconds is not None and elapsed_seconds >= wishes.seconds
        return self.stopping.is_set() or is_late or bool(self.tally.verdict)

    async def _watch(self) -> None:
        """The receiver is asked every second; the broker, which has better to do, less often."""
        for number in itertools.count():
            seen = await self.receiver.seen()
            self.tally.delivered, self.tally.failed = seen.received, seen.failed
            if number % LOOK_EVERY_SECONDS == 0:
                with suppress(BrokerError):
                    self.tally.letters = await readings.letters(self.desk)
                    self.tally.waiting = await readings.waiting(self.desk)
            await asyncio.sleep(1.0)

    async def settle(self) -> None:
        """What was sent has arrived; then nobody is sent anything any more."""
        await self.sender.finish()
        await self.runner.finish()
        await stage.still(self.desk)
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while asyncio.get_running_loop().time() < deadline and await readings.in_flight(self.desk):
            await asyncio.sleep(0.2)


async def run(places: Places, api_key: str, wishes: Wishes, screen: Screen) -> int:
    stopping = asyncio.Event()
    _heed_signals(stopping)
    async with Desk(places.web, api_key) as desk, receiving(wishes.seed) as receiver:
        tokens, tally = stage.new_tokens(), Tally()
        async with AsyncBroker(places.web, api_key=api_key) as manager:
            await patiently(lambda: stage.build(manager, desk, receiver.url, tokens), stopping)
        screen.say(opening(places))
        async with _playing(
            url=places.web,
            tokens=tokens,
            tally=tally,
            wishes=wishes,
            desk=desk,
            receiver=receiver,
            stopping=stopping,
        ) as show:
            await show.play(wishes, screen)
            screen.say("Stopping: waiting for what is under way …")
            with suppress(BrokerError):
                await show.settle()
        screen.say(ending(tally.verdict))
    return 1 if tally.verdict else 0


@asynccontextmanager
async def _playing(
    *,
    url: str,
    tokens: stage.Tokens,
    tally: Tally,
    wishes: Wishes,
    desk: Desk,
    receiver: Receiving,
    stopping: asyncio.Event,
) -> AsyncIterator[Show]:
    """Whoever asks for jobs goes on until all that was sent has settled."""
    async with AsyncExitStack() as stack:
        producers = sending.brokers(url, tokens)
        for broker in producers.values():
            await stack.enter_async_context(broker)
        reader = AsyncBroker(url, channel_tokens=tokens.channels, consumer_tokens=tokens.consumers)
        await stack.enter_async_context(reader)
        over = asyncio.Event()
        with pulling.working(url, tokens, tally, wishes.seed):
            polling = asyncio.create_task(pulling.poll(reader, tally, over))
            sender = sending.Sender(producers, desk, tally, run=wishes.run)
            runner = errands.Runner(desk, producers["demo-assistant"], tally, run=wishes.run)
            yield Show(desk, receiver, sender, runner, tally, stopping)
            over.set()
            await polling


async def remove(places: Places, api_key: str, screen: Screen) -> int:
    async with Desk(places.web, api_key) as desk:
        count = await stage.remove(desk)
    gone = f"{count} channels of the demo and their consumers are removed; their history stays."
    screen.say(gone if count else "There is nothing of the demo to remove.")
    return 0


async def patiently(call: Callable[[], Awaitable[None]], stopping: asyncio.Event) -> None:
    """Again, while it may help: a broker that is just starting is waited for."""
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        try:
            return await call()
        except BrokerError as error:
            if not error.is_passing or stopping.is_set() or asyncio.get_running_loop().time() > deadline:
                raise
            await wait(stopping, error.retry_after_seconds or 1.0)


async def wait(stopping: asyncio.Event, seconds: float) -> None:
    """So long, or until it is to stop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), max(0.0, seconds))


def _heed_signals(stopping: asyncio.Event) -> None:
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
