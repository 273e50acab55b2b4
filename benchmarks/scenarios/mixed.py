"""Publishing at full rate while delivering to one consumer: what both come to, on the same cores."""

import time

from benchmarks.bench import Bench
from benchmarks.broker import WORKERS
from benchmarks.figures import Figure

PATH = "/ok/mixed"


def run(bench: Bench) -> list[Figure]:
    with bench.broker.running(*WORKERS):
        channel = bench.broker.channel(k=bench.receiver.url(PATH))
        bench.load(channel, seconds=bench.size(5.0, 0.5))
        began = time.monotonic()
        loaded = bench.load(channel, seconds=bench.size(20.0, 1.0))
        ended = time.monotonic()
        arrived = sum(began <= at <= ended for at in bench.receiver.seen(PATH).at)
    return [
        Figure("mixed, published", "messages/s", loaded.accepted / loaded.seconds),
        Figure("mixed, delivered meanwhile", "deliveries/s", arrived / (ended - began)),
        Figure("mixed, publish p99", "ms", loaded.p99_ms),
    ]
