"""A claim of a hundred jobs, however many there are. No worker runs, the statement alone is timed."""

from benchmarks import children, rows
from benchmarks.bench import Bench
from benchmarks.broker import Channel
from benchmarks.figures import Figure, ratio_at_most

TARGET = ratio_at_most(2.0)
FEW_ROWS = 1_000
FAR_SECONDS = 3_600.0


def run(bench: Bench) -> list[Figure]:
    broker, many = bench.broker, bench.size(1_000_000, 5_000)
    channel = broker.channel(k=bench.receiver.url("/ok/never"))
    rows.add_messages(broker, channel, many)
    rows.add_jobs(broker, channel, FEW_ROWS)
    few = _median_ms(bench, channel)
    rows.add_jobs(broker, channel, many, FAR_SECONDS)
    waiting = _median_ms(bench, channel)
    broker.database.execute("TRUNCATE delivery_job")
    rows.add_jobs(broker, channel, many)
    ready = _median_ms(bench, channel)
    return [
        Figure("claim of 100 out of 1 thousand ready", "ms", few),
        Figure("claim of 100 out of 1 M ready", "ms", ready, few, "1 thousand", TARGET),
        Figure("claim of 100 beside 1 M waiting", "ms", waiting, few, "1 thousand", TARGET),
    ]


def _median_ms(bench: Bench, channel: Channel) -> float:
    told = {"consumer": channel.consumers[0], "most": 100, "times": bench.size(200, 10)}
    return float(children.ask("benchmarks.timers.claim", told, bench.broker.environment)["median_ms"])
