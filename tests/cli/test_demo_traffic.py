"""What the demo sends when: a table of seconds, the same for the same seed."""

from collections import Counter

import pytest

from broker_project.demo.cast import JOBS, REMINDERS, TELEMETRY
from broker_project.demo.traffic import (
    BURST_EVERY_SECONDS,
    BURST_FACTOR,
    BURST_SECONDS,
    DAY_SECONDS,
    JOB_SECONDS,
    SHARES,
    SOONEST_SECONDS,
    Item,
    burst,
    second,
    wave,
)

RATE = 20.0


def items_of(seconds: range, seed: int = 1, rate: float = RATE) -> list[tuple[str, Item]]:
    sends = [send for number in seconds for send in second(number, rate=rate, seed=seed)]
    return [(send.channel, item) for send in sends for item in send.items]


def test_the_same_seed_makes_the_same_traffic_and_another_makes_other() -> None:
    assert second(7, rate=RATE, seed=1) == second(7, rate=RATE, seed=1)
    assert second(7, rate=RATE, seed=1) != second(7, rate=RATE, seed=2)
    assert second(7, rate=RATE, seed=1) != second(8, rate=RATE, seed=1)


@pytest.mark.parametrize("rate", [0.5, 20.0, 100.0])
def test_over_a_day_the_rate_is_the_one_that_was_asked_for_and_bursts(rate: float) -> None:
    with_bursts = rate * (1 + (BURST_FACTOR - 1) * BURST_SECONDS / BURST_EVERY_SECONDS)
    sent = len(items_of(range(3 * DAY_SECONDS), rate=rate))
    assert sent / (3 * DAY_SECONDS) == pytest.approx(with_bursts, rel=0.1)


@pytest.mark.parametrize(
    ("number", "factor"), [(0, 1.0), (DAY_SECONDS // 4, 1.5), (DAY_SECONDS // 2, 1.0), (3 * DAY_SECONDS // 4, 0.5)]
)
def test_the_day_has_a_noon_and_a_night(number: int, factor: float) -> None:
    assert wave(number) == pytest.approx(factor)
    assert wave(number + DAY_SECONDS) == pytest.approx(factor)


@pytest.mark.parametrize("turn", range(5))
def test_each_stretch_has_one_burst(turn: int) -> None:
    begin = turn * BURST_EVERY_SECONDS
    loud = [number for number in range(begin, begin + BURST_EVERY_SECONDS) if burst(number, seed=1) > 1]
    assert loud == list(range(loud[0], loud[0] + BURST_SECONDS))


def test_every_channel_has_its_share() -> None:
    counts = Counter(channel for channel, _ in items_of(range(DAY_SECONDS)))
    assert sum(SHARES.values()) == 100
    for channel, share in SHARES.items():
        assert counts[channel] / counts.total() == pytest.approx(share / 100, abs=0.02)


def test_readings_go_as_one_batch_and_everything_else_alone() -> None:
    sends = [send for number in range(60) for send in second(number, rate=RATE, seed=1)]
    assert max(len(send.items) for send in sends if send.channel == TELEMETRY) > 1
    assert {len(send.items) for send in sends if send.channel != TELEMETRY} == {1}
    for number in range(60):
        batches = [send for send in second(number, rate=RATE, seed=1) if send.channel == TELEMETRY]
        assert len(batches) <= 1


def test_within_a_second_sends_stand_in_order() -> None:
    times = [send.after for send in second(3, rate=RATE, seed=1)]
    assert times == sorted(times)
    assert all(0 <= after < 1 for after in times)


def test_reminders_are_for_later_and_no_sooner_than_the_broker_takes_them() -> None:
    delays = [item.delay_seconds for channel, item in items_of(range(DAY_SECONDS)) if channel == REMINDERS]
    sure = [delay for delay in delays if delay is not None]
    assert len(sure) == len(delays)
    assert min(sure) >= SOONEST_SECONDS > 120
    assert sum(delay < 900 for delay in sure) > len(sure) / 2
    assert 6 * 3_600 < max(sure) <= 86_400


def test_jobs_are_soon_and_the_rest_is_for_now() -> None:
    for channel, item in items_of(range(DAY_SECONDS)):
        if channel == JOBS:
            assert item.delay_seconds is not None
            assert JOB_SECONDS[0] <= item.delay_seconds <= JOB_SECONDS[1]
        elif channel != REMINDERS:
            assert item.delay_seconds is None


def test_some_messages_are_more_urgent_than_others() -> None:
    assert {item.priority for _, item in items_of(range(60))} == {0, 5, 9}
