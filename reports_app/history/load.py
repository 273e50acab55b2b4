"""When messages came in: more by day than by night, less at the weekend, and now and then a burst. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from random import Random

BURSTS = 0.02
BURST_FACTOR = 5.0
# What happens to the last messages happens within the hour after them, which is past too.
QUIET_HOURS = 1


@dataclass(frozen=True)
class Hour:
    """The messages numbered from `first`, so many of them."""

    start: datetime
    first: int
    count: int


def hours(*, messages: int, days: int, seed: int, until: datetime) -> list[Hour]:
    start = until - timedelta(days=days)
    starts = [start + timedelta(hours=hour) for hour in range(days * 24 - QUIET_HOURS)]
    weights = _weights(starts, Random(seed))  # noqa: S311
    total = sum(weights)
    edges = [round(messages * part / total) for part in accumulate(weights, initial=0.0)]
    return [
        Hour(at, first + 1, after - first)
        for at, (first, after) in zip(starts, pairwise(edges), strict=True)
        if after > first
    ]


def chunks(several: list[Hour], most: int) -> Iterator[list[Hour]]:
    """Hours in their order, together about so many messages: what one statement writes."""
    chunk: list[Hour] = []
    for hour in several:
        chunk.append(hour)
        if sum(one.count for one in chunk) >= most:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _weights(starts: list[datetime], random: Random) -> list[float]:
    return [_by_clock(at) * (BURST_FACTOR if random.random() < BURSTS else random.uniform(0.85, 1.15)) for at in starts]


def _by_clock(at: datetime) -> float:
    """Lowest at three in the morning, highest at three in the afternoon."""
    by_day = 1.0 - 0.85 * math.cos((at.hour - 3) / 24 * 2 * math.pi)
    return by_day * (0.5 if at.weekday() >= 5 else 1.0)
