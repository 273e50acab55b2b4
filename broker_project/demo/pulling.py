"""The consumers that ask: a worker that leases, in a thread with a loop of its own, and one that polls by index."""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from broker_client import AsyncBroker, BrokerError, Job, Polled, Reject, Worker
from broker_project.demo.cast import POLLER, WORKER
from broker_project.demo.stage import Tokens
from broker_project.demo.tally import Tally

WORK_SECONDS = (0.02, 0.3)
# Of a thousand jobs, so many fail and are tried again, or are dead at once.
FAILING, HOPELESS = 30, 3
AT_ONCE = 8
GRACE_SECONDS = 3.0
POLLED_AT_ONCE = 100
REST_SECONDS = 1.0


class DiskFull(Exception):
    """There is no room left on the archive's disk."""


@contextmanager
def working(url: str, tokens: Tokens, tally: Tally, seed: int) -> Iterator[None]:
    """Beside the main thread a worker hears no signals: they are the demo's."""
    app = _worker(url, tokens, tally, random.Random(f"{seed}/worker"))
    thread = threading.Thread(target=_run, args=(app, tally), name="demo-worker")
    thread.start()
    try:
        yield
    finally:
        app.stop()
        thread.join()


def _run(app: Worker, tally: Tally) -> None:
    try:
        app.run()
    except BrokerError as error:
        tally.heard(error)


def _worker(url: str, tokens: Tokens, tally: Tally, chance: random.Random) -> Worker:
    app = Worker(
        url,
        channel_tokens=tokens.channels,
        consumer_tokens=tokens.consumers,
        device_id="demo-archive-1",
        grace_seconds=GRACE_SECONDS,
        wait_seconds=5.0,
    )
    channel, consumer = WORKER

    @app.consumer(channel, consumer=consumer, concurrency=AT_ONCE)
    async def archive(_job: Job) -> None:
        await asyncio.sleep(chance.uniform(*WORK_SECONDS))
        drawn = chance.randrange(1_000)
        if drawn < FAILING + HOPELESS:
            tally.nacked += 1
            raise Reject("The archive cannot read this order.") if drawn < HOPELESS else DiskFull(DiskFull.__doc__)
        tally.leased += 1

    return app


async def poll(broker: AsyncBroker, tally: Tally, stopping: asyncio.Event) -> None:
    """Until it is to stop. What was handed out in an answer that got lost is asked for again."""
    while not stopping.is_set():
        try:
            done = await _poll_once(broker)
        except BrokerError as error:
            tally.heard(error)
            done = 0
        tally.polled += done
        if not done:
            await asyncio.sleep(REST_SECONDS)


async def _poll_once(broker: AsyncBroker) -> int:
    polled: Polled = await broker.poll(*POLLER, limit=POLLED_AT_ONCE)
    if polled.messages:
        await broker.ack_up_to(*POLLER, polled.messages[-1].index)
    elif polled.indexes.sent > polled.indexes.acked:
        await broker.seek(*POLLER, polled.indexes.acked)
    return len(polled.messages)
