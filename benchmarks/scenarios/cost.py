"""What a message costs: CPU by part, bytes written ahead and bytes kept, act by act. docs/sizing.md is made from it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import LiteralString

from benchmarks import children, meter
from benchmarks.backlog import OPEN, wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import WIPE, WORKERS, Channel
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure
from benchmarks.meter import Spent
from benchmarks.pollers import Polling

# Well within what two cores do, as a broker that runs for long should be.
PER_SECOND, A_BATCH, POLLERS = 300, 100, 4
PATH = "/ok/cost"
DUE_IN_SECONDS = 2.0
# The counters of the last messages are folded by then.
AFTERWARDS_SECONDS = 4.0
PUBLISH, BATCH, DELIVERY, SCHEDULE, PULL = "publish", "publish by 100", "delivery", "schedule", "lease and ack"
ACTS = (PUBLISH, BATCH, DELIVERY, SCHEDULE, PULL)
WAL_BYTES, STORED_BYTES = "WAL", "tables"
LATER: LiteralString = "SELECT EXISTS (SELECT FROM scheduled_message WHERE status = 100)"


def run(bench: Bench) -> list[Figure]:
    with bench.broker.running(*WORKERS):
        _warm_up(bench)
        idle = _idle(bench)
        publish = _publish(bench, idle)
        spent = {
            PUBLISH: publish,
            BATCH: _batch(bench, idle),
            DELIVERY: _deliver(bench, idle).more_than(publish),
            SCHEDULE: _schedule(bench, idle),
            PULL: _pull(bench, idle).more_than(publish),
        }
    return [figure for act, one in spent.items() for figure in _figures(act, one)]


def _figures(act: str, spent: Spent) -> Iterator[Figure]:
    for part, seconds in sorted(spent.cpu.items()):
        yield Figure(f"cost of {act}: {part}", "CPU ms", 1000 * seconds)
    yield Figure(f"cost of {act}: {WAL_BYTES}", "bytes", spent.wal_bytes)
    yield Figure(f"cost of {act}: {STORED_BYTES}", "bytes", spent.stored_bytes)


def _warm_up(bench: Bench) -> None:
    channel = bench.broker.channel(k=bench.receiver.url(PATH))
    bench.load(channel, requests=bench.size(3_000, 10), per_second=PER_SECOND)
    _settle(bench, channel)


def _idle(bench: Bench) -> Spent:
    begun = meter.read(bench.broker)
    time.sleep(bench.size(30.0, 0.5))
    return meter.between(begun, meter.read(bench.broker))


def _publish(bench: Bench, idle: Spent) -> Spent:
    return _measured(bench, idle, bench.broker.channel(), _messages(bench))


def _batch(bench: Bench, idle: Spent) -> Spent:
    requests = bench.size(300, 2)
    channel, begun = bench.broker.channel(), _begun(bench)
    bench.load(channel, requests=requests, batch=A_BATCH, connections=4, per_second=PER_SECOND / 10)
    return _ended(bench, channel, begun, idle, requests * A_BATCH)


def _deliver(bench: Bench, idle: Spent) -> Spent:
    return _measured(bench, idle, bench.broker.channel(k=bench.receiver.url(PATH)), _messages(bench))


def _schedule(bench: Bench, idle: Spent) -> Spent:
    later = {"due_in": DUE_IN_SECONDS, "due_every": 1 / PER_SECOND}
    return _measured(bench, idle, bench.broker.channel(), _messages(bench), **later)


def _pull(bench: Bench, idle: Spent) -> Spent:
    channel, messages = bench.broker.pulled(), _messages(bench)
    polling = asdict(Polling(bench.broker.plan.port, channel.name, messages, POLLERS))
    begun = _begun(bench)
    with ThreadPoolExecutor(1) as threads:
        polled = threads.submit(children.ask, "benchmarks.pollers", polling)
        bench.load(channel, requests=messages, per_second=PER_SECOND)
        polled.result()
    return _ended(bench, channel, begun, idle, messages)


def _measured(bench: Bench, idle: Spent, channel: Channel, messages: int, **fields: float) -> Spent:
    begun = _begun(bench)
    loaded = bench.load(channel, requests=messages, per_second=PER_SECOND, **fields)
    if loaded.accepted != messages:
        raise NotMeasured(f"Of {messages} messages {loaded.accepted} were accepted: {loaded.statuses}")
    return _ended(bench, channel, begun, idle, messages)


def _begun(bench: Bench) -> meter.Reading:
    """With empty tables: room that an earlier act has left free would hide what this one needs."""
    bench.broker.database.execute(WIPE)
    return meter.read(bench.broker)


def _ended(bench: Bench, channel: Channel, begun: meter.Reading, idle: Spent, messages: int) -> Spent:
    _settle(bench, channel)
    return meter.between(begun, meter.read(bench.broker)).without(idle).per(messages)


def _settle(bench: Bench, channel: Channel) -> None:
    bench.broker.wait_until(lambda: not bench.broker.value(LATER), "the last that was for later")
    wait_for_fan_out(bench)
    bench.broker.wait_until(lambda: not bench.broker.value(OPEN, of=channel.consumers), "the last delivery")
    time.sleep(bench.size(AFTERWARDS_SECONDS, 0.0))


def _messages(bench: Bench) -> int:
    return bench.size(60 * PER_SECOND, 20)
