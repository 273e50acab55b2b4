"""What the workers hold in memory: with an empty queue, and with a million jobs queued for a consumer that hangs."""

from benchmarks import rows
from benchmarks.backlog import OPEN, fill, wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import DELIVERY, DISPATCH, WORKERS, Channel
from benchmarks.figures import Figure, at_most

MIB = 2**20
MOST_GROWTH_MIB = 100.0


def run(bench: Bench) -> list[Figure]:
    broker = bench.broker
    healthy = broker.channel(k=bench.receiver.url("/ok/memory"))
    stuck = broker.channel(k=bench.receiver.url("/hang/memory"))
    empty = _after_some_work(bench, healthy)
    jobs = bench.size(1_000_000, 5_000)
    rows.add_messages(broker, stuck, jobs)
    rows.add_jobs(broker, stuck, jobs)
    full = _after_some_work(bench, healthy)
    return [
        Figure(
            f"{kind} with 1 M queued jobs",
            "MiB",
            full[kind],
            empty[kind],
            "empty queue",
            at_most(empty[kind] + MOST_GROWTH_MIB),
        )
        for kind in (DELIVERY, DISPATCH)
    ]


def _after_some_work(bench: Bench, channel: Channel) -> dict[str, float]:
    """New workers, the same work: only the queue is different."""
    broker = bench.broker
    with broker.running(*WORKERS):
        fill(bench, channel, bench.size(20_000, 200))
        wait_for_fan_out(bench)
        broker.wait_until(lambda: not broker.value(OPEN, of=channel.consumers), "the deliveries")
        return {kind: broker.rss_bytes(kind) / MIB for kind in (DELIVERY, DISPATCH)}
