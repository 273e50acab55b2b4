"""Single publishes over 32 connections, beside pgbench's bare inserts: the door alone, then with all at work."""

from statistics import median

from benchmarks import references
from benchmarks.backlog import wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import DISPATCH, WORKERS, Channel
from benchmarks.figures import Figure, at_most, ratio_at_least
from benchmarks.load import Loaded

AGAINST = "pgbench, bare inserts"
TARGET, P99 = ratio_at_least(0.6), at_most(30.0)


def run(bench: Bench) -> list[Figure]:
    alone, bare_alone = _measure(bench, bench.broker.channel())
    bench.broker.wipe()
    with bench.broker.running(*WORKERS):
        beside, bare = _measure(bench, bench.broker.channel())
    return [
        Figure("publish", "messages/s", rate(alone), bare_alone, AGAINST, TARGET),
        Figure("publish, p99", "ms", median(one.p99_ms for one in alone), target=P99),
        Figure("publish while workers fan out", "messages/s", rate(beside), bare, AGAINST),
        Figure("publish while workers fan out, p99", "ms", median(one.p99_ms for one in beside), target=P99),
    ]


def rate(loads: list[Loaded]) -> float:
    return median(one.accepted / one.seconds for one in loads)


def _measure(bench: Bench, channel: Channel) -> tuple[list[Loaded], float]:
    """In turns, so that a machine that slows down slows both."""
    seconds = bench.size(10.0, 1.0)
    bench.load(channel, seconds=seconds / 5)
    loads, bare = [], []
    for _ in range(bench.size(3, 1)):
        bare.append(references.inserts_per_second(bench.broker, seconds))
        loads.append(bench.load(channel, seconds=seconds))
        if DISPATCH in bench.broker.processes:
            wait_for_fan_out(bench)
    return loads, median(bare)
