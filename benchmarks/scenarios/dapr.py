"""Dapr's door: events one by one and in bulk, beside the broker's own door, and jobs."""

from collections.abc import Callable
from statistics import median
from typing import LiteralString

from benchmarks.bench import Bench
from benchmarks.broker import Channel
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_least, ratio_at_least
from benchmarks.load import Loaded
from benchmarks.prepared_dapr import COMPONENT

A_REQUEST, BULK_CONNECTIONS = 500, 4
UNIT = "messages/s"
OF_BROADCAST, OF_BATCH, JOBS = ratio_at_least(0.7), ratio_at_least(0.8), at_least(2_000.0)
MAKE: LiteralString = """
INSERT INTO dapr_component (name, enable_delayed_messaging, create_topics) VALUES (%(name)s, true, true)
ON CONFLICT DO NOTHING
"""
# So that a producer's token opens it here, too.
OPEN: LiteralString = "UPDATE channel SET answers = 'dapr' WHERE id = %(channel)s"


def run(bench: Bench) -> list[Figure]:
    channel = bench.broker.channel()
    bench.broker.database.execute(MAKE, {"name": COMPONENT})
    bench.broker.database.execute(OPEN, {"channel": channel.row_id})
    event, single = _in_turns(bench, channel, _events, _broadcasts)
    bulk, batch = _in_turns(bench, channel, _bulks, _batches)
    (jobs,) = _in_turns(bench, channel, _jobs)
    return [
        Figure("dapr, publish", UNIT, event, single, "broadcast", OF_BROADCAST),
        Figure("dapr, bulk publish", UNIT, bulk, batch, "broadcast/batch", OF_BATCH),
        Figure("dapr, jobs scheduled", "jobs/s", jobs, target=JOBS),
    ]


def _in_turns(bench: Bench, channel: Channel, *loads: Callable[[Bench, Channel], float]) -> tuple[float, ...]:
    """The median of each, taken in turns: a machine that slows down slows both. The first round warms up."""
    rounds = [[load(bench, channel) for load in loads] for _ in range(bench.size(4, 2))]
    return tuple(median(column) for column in zip(*rounds[1:], strict=True))


def _events(bench: Bench, channel: Channel) -> float:
    return _rate(bench.load(channel, seconds=bench.size(5.0, 0.5), door="dapr"))


def _broadcasts(bench: Bench, channel: Channel) -> float:
    return _rate(bench.load(channel, seconds=bench.size(5.0, 0.5)))


def _bulks(bench: Bench, channel: Channel) -> float:
    return _rate(_many(bench, channel, door="dapr"), A_REQUEST)


def _batches(bench: Bench, channel: Channel) -> float:
    return _rate(_many(bench, channel, door="broadcast"), A_REQUEST)


def _many(bench: Bench, channel: Channel, door: str) -> Loaded:
    return bench.load(channel, requests=bench.size(200, 8), batch=A_REQUEST, connections=BULK_CONNECTIONS, door=door)


def _jobs(bench: Bench, channel: Channel) -> float:
    return _rate(bench.load(channel, seconds=bench.size(5.0, 0.5), door="jobs"))


def _rate(loaded: Loaded, a_request: int = 1) -> float:
    if sum(loaded.statuses.values()) != loaded.accepted:
        raise NotMeasured(f"Not all requests were accepted: {loaded.statuses}")
    return loaded.accepted * a_request / loaded.seconds
