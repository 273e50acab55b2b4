"""`messages-status`, however many messages there are."""

import time
from statistics import median

from benchmarks import rows
from benchmarks.bench import Bench
from benchmarks.broker import Channel
from benchmarks.figures import Figure, ratio_at_most

TARGET = ratio_at_most(2.0)


def run(bench: Bench) -> list[Figure]:
    broker = bench.broker
    channel = broker.channel()
    path = f"/channel/{channel.name}/messages-status"
    if broker.get(path) == 404:
        return [Figure("messages-status with 5 M messages", "ms", None)]
    few = _with(bench, channel, bench.size(5_000, 50), path)
    many = _with(bench, channel, bench.size(5_000_000, 5_000), path)
    return [
        Figure("messages-status with 5 thousand messages", "ms", few),
        Figure("messages-status with 5 M messages", "ms", many, few, "5 thousand", TARGET),
    ]


def _with(bench: Bench, channel: Channel, messages: int, path: str) -> float:
    rows.add_messages(bench.broker, channel, messages)
    return median(_milliseconds(bench, path) for _ in range(bench.size(100, 5)))


def _milliseconds(bench: Bench, path: str) -> float:
    began = time.perf_counter()
    bench.broker.get(path)
    return (time.perf_counter() - began) * 1000
