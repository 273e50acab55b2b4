"""A backlog delivered to one consumer, then to five, beside the bare HTTP client."""

from statistics import mean

from benchmarks import references
from benchmarks.backlog import drain, fill
from benchmarks.bench import Bench
from benchmarks.figures import Figure, ratio_at_least

AGAINST = "bare HTTP client"


def run(bench: Bench) -> list[Figure]:
    """In turns, so that a machine that slows down slows all three."""
    rounds = [_round(bench) for _ in range(bench.size(2, 1))]
    bare, one, five = (mean(column) for column in zip(*rounds, strict=True))
    return [
        Figure("deliver to 1 consumer", "deliveries/s", one, bare, AGAINST, ratio_at_least(0.4)),
        Figure("deliver to 5 consumers", "deliveries/s", five, one, "deliver to 1", ratio_at_least(1.0)),
    ]


def _round(bench: Bench) -> tuple[float, float, float]:
    """The bare client before and after: a run to five takes a minute."""
    posts = bench.size(20_000, 200)
    before = references.posts_per_second(bench.broker, bench.receiver, posts)
    one, five = _to(bench, 1), _to(bench, 5)
    return mean([before, references.posts_per_second(bench.broker, bench.receiver, posts)]), one, five


def _to(bench: Bench, consumers: int) -> float:
    bench.broker.wipe()
    urls = {f"k{n}": bench.receiver.url(f"/ok/deliver-{consumers}-{n}") for n in range(consumers)}
    channel = bench.broker.channel(**urls)
    fill(bench, channel, bench.size(20_000, 200))
    return drain(bench, channel)
