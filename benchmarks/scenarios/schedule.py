"""Messages for later: how late they come, how quickly a burst is out, what a sweep costs, how fast they are taken."""

import time
from statistics import median
from typing import LiteralString

from benchmarks import children, rows
from benchmarks.backlog import wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import DISPATCH, WORKERS, Channel
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_least, at_most, ratio_at_least, ratio_at_most
from benchmarks.percentiles import percentile
from benchmarks.scenarios.publish import rate

TRICKLE, BURST = "/ok/trickle", "/ok/burst"
EVERY_SECONDS = 0.01
# Further ahead than any ring reaches: these are found by the sweep. The others come between two sweeps.
FAR_SECONDS, NEAR_SECONDS = 14.0, 2.0
A_REQUEST = 500
NOT_EARLY_MS = 0.001
MIB, MOST_GROWTH_MIB = 2**20, 30.0

# How many came into the message table as (due, arrival) has them.
IN_ORDER: LiteralString = """
SELECT 100.0 * count(*) FILTER (WHERE place = wanted) / count(*) FROM (
    SELECT row_number() OVER (ORDER BY m.id) AS place, row_number() OVER (ORDER BY s.due_at, s.id) AS wanted
    FROM message m JOIN scheduled_message s USING (channel_id, message_id) WHERE channel_id = %(channel)s
) AS placed
"""


def run(bench: Bench) -> list[Figure]:
    with bench.broker.running(*WORKERS):
        late = [*_trickle(bench), *_burst(bench)]
    bench.broker.wipe()
    taken = _taken(bench)
    bench.broker.wipe()
    return [*late, taken, *_swept(bench)]


def _trickle(bench: Bench) -> list[Figure]:
    """Every other message is known for long, the rest only since the last sweep."""
    channel = bench.broker.channel(k=bench.receiver.url(TRICKLE))
    each, every = bench.size(1_000, 20), 2 * EVERY_SECONDS
    begun = time.monotonic()
    _schedule(bench, channel, requests=each, due_in=FAR_SECONDS, due_every=every)
    time.sleep(max(0.0, begun + FAR_SECONDS - NEAR_SECONDS - time.monotonic()))
    _schedule(bench, channel, requests=each, per_second=1 / every, due_in=NEAR_SECONDS, due_every=every)
    bench.broker.wait_until(lambda: bench.receiver.seen(TRICKLE).count >= 2 * each, "the last of the trickle")
    late = bench.receiver.seen(TRICKLE).under_way_ms
    return [
        Figure("schedule, due to receiver, p50", "ms", percentile(late, 50), target=at_most(40.0)),
        Figure("schedule, due to receiver, p99", "ms", percentile(late, 99), target=at_most(120.0)),
        Figure("schedule, due to receiver, earliest", "ms", min(late), target=at_least(NOT_EARLY_MS)),
    ]


def _burst(bench: Bench) -> list[Figure]:
    """All due at one instant, long enough ahead for all to be stored by then."""
    channel = bench.broker.channel(k=bench.receiver.url(BURST))
    requests = bench.size(20, 1)
    messages = requests * A_REQUEST
    _schedule(bench, channel, batch=A_REQUEST, requests=requests, connections=4, due_in=FAR_SECONDS)
    bench.broker.wait_until(lambda: bench.receiver.seen(BURST).count >= messages, "the last of the burst")
    seconds = max(bench.receiver.seen(BURST).under_way_ms) / 1000
    in_order = float(bench.broker.value(IN_ORDER, channel=channel.row_id))
    return [
        Figure("schedule, 10,000 due at once, all received", "s", seconds, target=at_most(8.0)),
        Figure("schedule, 10,000 due at once, in order", "%", in_order, target=at_least(100.0)),
    ]


def _schedule(bench: Bench, channel: Channel, requests: int, **fields: float) -> None:
    loaded = bench.load(channel, requests=requests, **fields)
    if loaded.accepted != requests:
        raise NotMeasured(f"Of {requests} requests {loaded.accepted} were accepted: {loaded.statuses}")


def _taken(bench: Bench) -> Figure:
    """In turns, so that a machine that slows down slows both."""
    channel, seconds = bench.broker.channel(), bench.size(5.0, 0.5)
    bench.load(channel, seconds=seconds / 5)
    plain, later = [], []
    with bench.broker.running(*WORKERS):
        for _ in range(bench.size(3, 1)):
            plain.append(bench.load(channel, seconds=seconds))
            wait_for_fan_out(bench)
            later.append(bench.load(channel, seconds=seconds, due_in=86_400.0))
    against, target = "single publish", ratio_at_least(0.8)
    return Figure("schedule, through the door", "messages/s", rate(later), rate(plain), against, target)


def _swept(bench: Bench) -> list[Figure]:
    channel, few, many = bench.broker.channel(), bench.size(5_000, 50), bench.size(5_000_000, 5_000)
    rows.add_scheduled(bench.broker, channel, 1, few)
    few_ms, few_mib = _sweep_ms(bench, channel), _worker_mib(bench)
    rows.add_scheduled(bench.broker, channel, few + 1, many)
    many_ms, many_mib = _sweep_ms(bench, channel), _worker_mib(bench)
    most = at_most(few_mib + MOST_GROWTH_MIB)
    return [
        Figure("schedule, sweep beside 5 M for next month", "ms", many_ms, few_ms, "5 thousand", ratio_at_most(2.0)),
        Figure("schedule, worker beside 5 M for next month", "MiB", many_mib, few_mib, "5 thousand", most),
    ]


def _sweep_ms(bench: Bench, channel: Channel) -> float:
    told = {"channel": channel.row_id, "times": bench.size(200, 10)}
    return float(children.ask("benchmarks.timers.sweep", told, bench.broker.environment)["median_ms"])


def _worker_mib(bench: Bench) -> float:
    """After the sweeps of a while."""
    with bench.broker.running(*WORKERS):
        swept = bench.broker.value("SELECT now()")
        bench.broker.wait_until(
            lambda: bench.broker.value("SELECT max(at) > %(swept)s FROM progress", swept=swept), "a sweep"
        )
        return median(_resident(bench) for _ in range(bench.size(10, 1)))


def _resident(bench: Bench) -> float:
    time.sleep(bench.size(1.0, 0.1))
    return bench.broker.rss_bytes(DISPATCH) / MIB
