"""A thousand messages a request, beside single publishes and a bare COPY."""

from statistics import median

from benchmarks import references
from benchmarks.backlog import wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import DISPATCH, WORKERS, Channel
from benchmarks.figures import Figure, ratio_at_least

A_REQUEST = 1_000
CONNECTIONS = 4
WHAT, UNIT = "batch publish", "messages/s"
OF_SINGLE, OF_COPY = ratio_at_least(2.5), ratio_at_least(0.4)


def run(bench: Bench) -> list[Figure]:
    channel = bench.broker.channel()
    if not bench.load(channel, batch=1, requests=1, connections=1).accepted:
        return [Figure(WHAT, UNIT, None)]
    batch, single, copied = _measure(bench, channel)
    bench.broker.wipe()
    with bench.broker.running(*WORKERS):
        beside, _, copied_beside = _measure(bench, bench.broker.channel())
    return [
        Figure(f"{WHAT}, of single", UNIT, batch, single, "single publish", OF_SINGLE),
        Figure(f"{WHAT}, of COPY", UNIT, batch, copied, "bare COPY", OF_COPY),
        Figure(f"{WHAT} while workers fan out", UNIT, beside, copied_beside, "bare COPY"),
    ]


def _measure(bench: Bench, channel: Channel) -> tuple[float, float, float]:
    """The medians of the three, taken in turns."""
    rounds = [_round(bench, channel) for _ in range(bench.size(3, 1))]
    batch, single, copied = (median(column) for column in zip(*rounds, strict=True))
    return batch, single, copied


def _round(bench: Bench, channel: Channel) -> tuple[float, float, float]:
    requests = bench.size(100, 4)
    copied = references.copied_per_second(bench.broker, requests * A_REQUEST)
    single = bench.load(channel, seconds=bench.size(5.0, 0.5))
    _rest(bench)
    batch = bench.load(channel, batch=A_REQUEST, requests=requests, connections=CONNECTIONS)
    _rest(bench)
    return batch.accepted * A_REQUEST / batch.seconds, single.accepted / single.seconds, copied


def _rest(bench: Bench) -> None:
    if DISPATCH in bench.broker.processes:
        wait_for_fan_out(bench)
