"""What acks and ack timeouts add to the metrics. Only a dictionary is filled here: nobody waits for it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from broker_project.lib.tally import Place, tally
from channels_app.metrics.activity import channel_key
from channels_app.metrics.histograms import END_TO_END, FIRST_ACK
from channels_app.pull.ack import Acked, Moved
from channels_app.pull.fold import DEAD, INFLIGHT, QUEUED
from channels_app.reasons import Reason


def measure_acks(acked: Acked) -> None:
    tally().add(dict(_amounts(acked)))


def measure_timeouts(ended: Sequence[tuple[str, bool]]) -> None:
    """Of each its channel, and whether it is dead."""
    retried = Counter(channel for channel, is_dead in ended if not is_dead)
    if retried:
        tally().add({(channel_key(name), f"ack_retries|{Reason.ACK_TIMEOUT}"): n for name, n in retried.items()})


def _amounts(acked: Acked) -> Iterator[tuple[Place, float]]:
    words: Counter[tuple[str, str]] = Counter()
    for batch, results in zip(acked.batches, acked.results, strict=True):
        channel = acked.ackers[batch.consumer_id].channel
        for ack, result in zip(batch.acks, results, strict=True):
            words[channel, f"acks|{ack.status.lower()}|{result}"] += 1
    for one in acked.moved:
        if one.move.status == QUEUED and one.move.is_try:
            words[one.acker.channel, f"ack_retries|{Reason.NACKED}"] += 1
    for (channel, word), count in words.items():
        yield (channel_key(channel), word), count
    yield from _times(acked.moved)


def _times(moved: Sequence[Moved]) -> Iterator[tuple[Place, float]]:
    firsts, lives = defaultdict(list), defaultdict(list)
    for held, move, acker in moved:
        if held.age_seconds is None:
            continue
        if _is_first(held.is_started, held.reason):
            firsts[acker.channel, "failed" if move.reason else "ok"].append(held.age_seconds)
        if move.status not in (INFLIGHT, QUEUED):
            lives[acker.channel, "dead" if move.status == DEAD else "delivered"].append(held.age_seconds)
    for histogram, times in ((FIRST_ACK, firsts), (END_TO_END, lives)):
        for (channel, outcome), seconds in times.items():
            for field, amount in histogram.observe(outcome, seconds):
                yield (channel_key(channel), field), amount


def _is_first(is_started: bool, reason: str | None) -> bool:
    """Nobody has acknowledged it before; after an ack timeout somebody else is the first."""
    return not is_started and reason != Reason.NACKED
