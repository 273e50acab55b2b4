"""What settled outcomes add to the metrics. Only a dictionary is filled here: settling waits for nobody."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from broker_project.lib.tally import Place, tally
from channels_app.delivery.settle import Settled
from channels_app.metrics.activity import channel_key
from channels_app.metrics.histograms import DELIVERY, END_TO_END


def measure(batch: Sequence[Settled]) -> None:
    tally().add(dict(_amounts(batch, time.monotonic())))


def _amounts(batch: Sequence[Settled], now: float) -> Iterator[tuple[Place, float]]:
    """Gathered first: most of a batch went to the same channel and ended the same way."""
    words: Counter[tuple[str, str]] = Counter()
    tries, lives = defaultdict(list), defaultdict(list)
    for one in batch:
        channel, reason = one.target.channel, one.outcome.reason
        words[channel, "released" if one.outcome.released else reason.value if reason else "ok"] += 1
        if not one.outcome.released:
            tries[channel, "failed" if reason else "ok"].append(one.outcome.duration_ms / 1000)
        if one.verdict.delivered or one.verdict.dead:
            # PostgreSQL's clock up to the claim, this process's from there: no clock is compared with another.
            age = one.job.age_seconds + now - one.job.claimed_at
            lives[channel, "delivered" if one.verdict.delivered else "dead"].append(age)
    for (channel, word), count in words.items():
        yield (channel_key(channel), f"attempts|{word}"), count
    for histogram, times in ((DELIVERY, tries), (END_TO_END, lives)):
        for (channel, outcome), seconds in times.items():
            for field, amount in histogram.observe(outcome, seconds):
                yield (channel_key(channel), field), amount
