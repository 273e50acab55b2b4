"""Few messages, nothing else to do: how long one takes from its publishing to its receiver."""

from benchmarks.bench import Bench
from benchmarks.broker import WORKERS
from benchmarks.figures import Figure, at_most
from benchmarks.percentiles import percentile

PER_SECOND = 20
PATH = "/ok/idle"
WARM_UP = 20


def run(bench: Bench) -> list[Figure]:
    messages = WARM_UP + bench.size(600, 20)
    with bench.broker.running(*WORKERS):
        channel = bench.broker.channel(k=bench.receiver.url(PATH))
        bench.load(channel, per_second=PER_SECOND, requests=messages)
        bench.broker.wait_until(lambda: bench.receiver.seen(PATH).count >= messages, "the last message")
    took = bench.receiver.seen(PATH).under_way_ms[WARM_UP:]
    return [
        Figure("idle, publish to receiver, p50", "ms", percentile(took, 50), target=at_most(20.0)),
        Figure("idle, publish to receiver, p99", "ms", percentile(took, 99), target=at_most(60.0)),
    ]
