"""Traffic beside an act, for as long as the act lasts: only what was sent between its begin and its end counts."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from benchmarks import children
from benchmarks.backlog import LEFT
from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.load import Load
from benchmarks.percentiles import percentile

Said = TypeVar("Said")


@dataclass(frozen=True)
class Act(Generic[Said]):
    """What it said, and from when to when it lasted, by the monotonic clock: its preparations are no part of it."""

    said: Said
    began: float
    ended: float


@dataclass(frozen=True)
class Beside(Generic[Said]):
    """The traffic's p99 from publish to receiver, and how many of its messages waited when the act was over."""

    said: Said
    p99_ms: float
    left: float


def timed(act: Callable[[], Said]) -> Act[Said]:
    began = time.monotonic()
    return Act(act(), began, time.monotonic())


def traffic_during(bench: Bench, path: str, per_second: float, act: Callable[[], Act[Said]]) -> Beside[Said]:
    broker, channel = bench.broker, bench.broker.channel(k=bench.receiver.url(path))
    told = {"channel": channel.row_id, "consumer": channel.consumers[0]}
    load = Load(port=broker.plan.port, channel=channel.name, per_second=per_second)
    with children.under_way("benchmarks.load", asdict(load)):
        broker.wait_until(lambda: bench.receiver.seen(path).count >= per_second, "the traffic")
        acted = act()
        left = float(broker.value(LEFT, **told))
    broker.wait_until(lambda: not broker.value(LEFT, **told), "the last message")
    under_way = bench.receiver.seen(path).sent_between(acted.began, acted.ended)
    if not under_way:
        raise NotMeasured("Nothing was sent while it lasted.")
    return Beside(acted.said, percentile(under_way, 99), left)
