"""Cron expressions of six fields: seconds first."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from scheduling_app.errors import InvalidCron
from scheduling_app.recurring import ticks
from scheduling_app.recurring.cron import read_cron, read_cron_with_seconds
from scheduling_app.recurring.ticks import Spec

START = datetime(1990, 1, 1, tzinfo=UTC)


def spec_of(cron: str, zone: str = "UTC") -> Spec:
    return Spec(ZoneInfo(zone), read_cron_with_seconds(cron), None, START)


def shown(spec: Spec, after: str, count: int = 3) -> list[str]:
    found = islice(ticks.ticks_after(spec, datetime.fromisoformat(after)), count)
    return [f"{tick.astimezone(spec.zone):%m-%d %H:%M:%S%z}" for tick in found]


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 30 * * * *", "2026-05-01T10:00Z", ["05-01 10:30:00+0000", "05-01 11:30:00+0000", "05-01 12:30:00+0000"]),
        ("0 15 3 * * *", "2026-05-01T10:00Z", ["05-02 03:15:00+0000", "05-03 03:15:00+0000", "05-04 03:15:00+0000"]),
        # The minute that has begun still has some.
        (
            "*/20 * * * * *",
            "2026-05-01T10:00:30Z",
            ["05-01 10:00:40+0000", "05-01 10:01:00+0000", "05-01 10:01:20+0000"],
        ),
        ("59 59 23 31 12 *", "2026-05-01T10:00Z", ["12-31 23:59:59+0000"] * 3),
        (
            "5,10 0 4 * * *",
            "2026-05-01T04:00:05Z",
            ["05-01 04:00:10+0000", "05-02 04:00:05+0000", "05-02 04:00:10+0000"],
        ),
        ("* * 3 * * *", "2026-05-01T03:59:58Z", ["05-01 03:59:59+0000", "05-02 03:00:00+0000", "05-02 03:00:01+0000"]),
        ("10 0 9 * * mon", "2026-05-01T10:00Z", ["05-04 09:00:10+0000", "05-11 09:00:10+0000", "05-18 09:00:10+0000"]),
        # Five fields mean what they mean elsewhere.
        ("30 3 * * *", "2026-05-01T10:00Z", ["05-02 03:30:00+0000", "05-03 03:30:00+0000", "05-04 03:30:00+0000"]),
    ],
)
def test_seconds_tick(cron: str, after: str, expected: list[str]) -> None:
    assert shown(spec_of(cron), after) == expected


def test_skipped_seconds_run_once_at_the_shift() -> None:
    spec = spec_of("*/30 30 2 * * *", "Europe/Berlin")
    found = shown(spec, "2026-03-28T12:00Z")
    assert found == ["03-29 03:00:00+0200", "03-30 02:30:00+0200", "03-30 02:30:30+0200"]


def test_every_second_goes_on_through_a_shift() -> None:
    spec = spec_of("* * * * * *", "Europe/Berlin")
    begin = datetime(2026, 10, 25, 0, 59, 50, tzinfo=UTC)
    found = list(islice(ticks.ticks_after(spec, begin), 20))
    assert found == [begin + timedelta(seconds=number) for number in range(1, 21)]


def test_the_last_tick_and_their_number_are_of_seconds_too() -> None:
    spec = spec_of("*/10 * * * * *")
    first = datetime(2026, 5, 1, 10, tzinfo=UTC)
    until = first + timedelta(minutes=7, seconds=34)
    assert ticks.last_tick(spec, first, until) == first + timedelta(minutes=7, seconds=30)
    assert ticks.count_ticks(spec, first, until) == 46


@pytest.mark.parametrize(
    "cron",
    [
        *("60 * * * * *", "x * * * * *", "*/0 * * * * *", "jan * * * * *", "* * * * * * *", "", "* * * *"),
        *(
            "0  * * * * *",
            "0 60 * * * *",
            "0 * 24 * * *",
            "0 * * 32 * *",
            "0 * * * 13 *",
            "0 * * * * 8",
            "²  * * * * *",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(cron: str) -> None:
    with pytest.raises(InvalidCron):
        read_cron_with_seconds(cron)


def test_our_own_schedules_have_five_fields() -> None:
    with pytest.raises(InvalidCron):
        read_cron("0 * * * * *")
