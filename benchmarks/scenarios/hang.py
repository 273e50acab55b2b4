"""A healthy consumer beside one, then fifty, that hang for 30 seconds on every call."""

from statistics import mean

from benchmarks.backlog import drain, fill
from benchmarks.bench import Bench
from benchmarks.figures import Figure, ratio_at_least

TARGET = ratio_at_least(0.8)
UNIT = "deliveries/s"


def run(bench: Bench) -> list[Figure]:
    """In turns, so that a machine that slows down slows all three."""
    crowds = (0, 1, bench.size(50, 5))
    rounds = [[_beside(bench, hanging) for hanging in crowds] for _ in range(bench.size(3, 1))]
    alone, one, fifty = (mean(column) for column in zip(*rounds, strict=True))
    return [
        Figure("healthy, alone", UNIT, alone),
        Figure("healthy beside 1 that hangs", UNIT, one, alone, "alone", TARGET),
        Figure("healthy beside 50 that hang", UNIT, fifty, alone, "alone", TARGET),
    ]


def _beside(bench: Bench, hanging: int) -> float:
    """The hanging ones share a channel, and each has more jobs than slots."""
    broker, receiver = bench.broker, bench.receiver
    broker.wipe()
    bad = broker.channel(**{f"k{n}": receiver.url(f"/hang/{hanging}-{n}") for n in range(hanging)})
    healthy = broker.channel(k=receiver.url(f"/ok/beside-{hanging}"))
    fill(bench, bad, bench.size(200, 20))
    fill(bench, healthy, bench.size(10_000, 200))
    return drain(bench, healthy)
