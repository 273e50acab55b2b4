"""A consumer of which one answer in a hundred takes a second."""

from benchmarks.backlog import drain, fill
from benchmarks.bench import Bench
from benchmarks.figures import Figure, ratio_at_least

UNIT = "deliveries/s"


def run(bench: Bench) -> list[Figure]:
    quick = _rate(bench, "/ok/never-slow")
    slow = _rate(bench, "/slow/now-and-then")
    return [
        Figure("always quick", UNIT, quick),
        Figure("1 % of answers take 1 s", UNIT, slow, quick, "always quick", ratio_at_least(0.5)),
    ]


def _rate(bench: Bench, path: str) -> float:
    bench.broker.wipe()
    channel = bench.broker.channel(k=bench.receiver.url(path))
    fill(bench, channel, bench.size(20_000, 200))
    return drain(bench, channel)
