"""A large backlog on one channel, and how long a message of another takes meanwhile."""

from benchmarks.backlog import fill
from benchmarks.bench import Bench
from benchmarks.broker import WORKERS
from benchmarks.figures import Figure, at_most
from benchmarks.percentiles import percentile

PER_SECOND = 20
BUSY, CALM = "/ok/busy", "/ok/calm"
WHAT = "neighbour of a backlog, publish to receiver"


def run(bench: Bench) -> list[Figure]:
    """Nothing of the backlog is fanned out when the workers start: the neighbour waits for neither step."""
    broker, receiver = bench.broker, bench.receiver
    backlog, messages = bench.size(100_000, 500), bench.size(300, 20)
    busy = broker.channel(k=receiver.url(BUSY))
    calm = broker.channel(k=receiver.url(CALM))
    fill(bench, busy, backlog)
    with broker.running(*WORKERS):
        bench.load(calm, per_second=PER_SECOND, requests=messages)
        left = backlog - receiver.seen(BUSY).count
        broker.wait_until(lambda: receiver.seen(CALM).count >= messages, "the last message")
    took = receiver.seen(CALM).under_way_ms
    return [
        Figure(f"{WHAT}, p99", "ms", percentile(took, 99), target=at_most(500.0)),
        Figure(f"{WHAT}, p50", "ms", percentile(took, 50)),
        Figure("backlog left at its last message", "messages", left),
    ]
