"""What the processes have counted, and how long the queues are: read from Redis, in a thread of its own."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import redis
from django.conf import settings
from prometheus_client.core import Metric

from broker_project.lib import tally
from broker_project.lib.redis_client import redis_client
from channels_app.metrics import catalogue
from channels_app.metrics.activity import channel_key
from channels_app.metrics.histograms import DELIVERY, END_TO_END, FIRST_ACK, Histogram
from channels_app.metrics.stored import CHANNELS, rows

AT_ONCE = 100
Fields = Mapping[str, float]


async def channels() -> Sequence[Metric]:
    names = [name for (name,) in await rows(CHANNELS)]
    by_name = dict(zip(names, await asyncio.to_thread(hashes, [channel_key(name) for name in names]), strict=True))
    return (
        catalogue.ATTEMPTS.counter(_of_channels("attempts", by_name)),
        catalogue.DELIVERY_SECONDS.histogram(_histograms(DELIVERY, by_name)),
        catalogue.END_TO_END_SECONDS.histogram(_histograms(END_TO_END, by_name)),
        catalogue.FIRST_ACK_SECONDS.histogram(_histograms(FIRST_ACK, by_name)),
        catalogue.ACKS.counter(_of_channels("acks", by_name)),
        catalogue.ACK_RETRIES.counter(_of_channels("ack_retries", by_name)),
    )


async def activity() -> Sequence[Metric]:
    [fields] = await asyncio.to_thread(hashes, [tally.ALL])
    rings = ((words.split("|"), count) for words, count in under("ring", fields))
    return (
        catalogue.RINGS.counter(rings),
        catalogue.SWEEP_RUNS.counter(((sweep,), count) for sweep, count in under("sweep_runs", fields)),
        catalogue.SWEEP_MOVED.counter(((sweep,), count) for sweep, count in under("sweep_moved", fields)),
        catalogue.RATE_LIMIT_OPEN.counter([((), fields.get("rate_limit_open", 0))]),
        catalogue.LOST.counter([((), fields.get(tally.LOST, 0))]),
    )


async def queues() -> Sequence[Metric]:
    names = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    depths = await asyncio.to_thread(_lengths, names)
    return (catalogue.QUEUE_DEPTH.gauge(((name,), depth) for name, depth in zip(names, depths, strict=True)),)


def under(kind: str, fields: Fields) -> Iterator[tuple[str, float]]:
    for field, count in sorted(fields.items()):
        if field.startswith(f"{kind}|"):
            yield field.removeprefix(f"{kind}|"), count


def _of_channels(kind: str, by_name: Mapping[str, Fields]) -> Iterator[tuple[Sequence[str], float]]:
    for name, fields in by_name.items():
        for words, count in under(kind, fields):
            yield (name, *words.split("|")), count


def _histograms(
    histogram: Histogram, by_name: Mapping[str, Fields]
) -> Iterator[tuple[Sequence[str], list[tuple[str, float]], float]]:
    for name, fields in by_name.items():
        for outcome, buckets, total in histogram.read(fields):
            yield (name, outcome), buckets, total


def hashes(keys: Sequence[str]) -> list[Fields]:
    """Some at a time: no other client of Redis waits long."""
    found: list[Fields] = []
    for start in range(0, len(keys), AT_ONCE):
        pipeline = _client().pipeline(transaction=False)
        for key in keys[start : start + AT_ONCE]:
            pipeline.hgetall(key)
        found += [{field: float(value) for field, value in fields.items()} for fields in pipeline.execute()]
    return found


def _lengths(names: Sequence[str]) -> list[float]:
    pipeline = _client().pipeline(transaction=False)
    for name in names:
        pipeline.llen(name)
    return list(pipeline.execute())


@cache
def _client() -> redis.Redis:
    return redis_client(decode_responses=True)
