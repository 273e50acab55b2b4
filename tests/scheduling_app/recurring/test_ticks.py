"""When schedules tick: tables for the days on which clocks are shifted, and a brute force to be compared with."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduling_app.errors import InvalidCron
from scheduling_app.recurring import ticks
from scheduling_app.recurring.cron import read_cron
from scheduling_app.recurring.ticks import MINUTE, Cron, Spec

START = datetime(1990, 1, 1, tzinfo=UTC)


def spec_of(cron: str, zone: str = "UTC", start: datetime = START, end: datetime | None = None) -> Spec:
    return Spec(ZoneInfo(zone), read_cron(cron), None, start, end)


def every(seconds: int, start: datetime = START, end: datetime | None = None) -> Spec:
    return Spec(ZoneInfo("UTC"), None, seconds, start, end)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def shown(spec: Spec, after: str, count: int) -> list[str]:
    """By the wall clock of the zone, with its offset."""
    found = islice(ticks.ticks_after(spec, moment(after)), count)
    return [f"{tick.astimezone(spec.zone):%m-%d %H:%M%z}" for tick in found]


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        # Skipped: once, at the shift.
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-03-28T12:00Z",
            ["03-29 03:00+0200", "03-30 02:30+0200"],
        ),
        ("Europe/Berlin", "*/10 2 29 3 *", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-29 02:00+0200"]),
        # The shift is a tick anyway: still once.
        ("Europe/Berlin", "0 2,3 * * *", "2026-03-29T00:30Z", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("America/New_York", "15 2 * * *", "2026-03-08T06:00Z", ["03-08 03:00-0400", "03-09 02:15-0400"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T14:00Z", ["10-04 02:30+1100", "10-05 02:15+1100"]),
        ("America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00Z", ["11-04 01:00-0200", "11-05 00:00-0200"]),
        ("Asia/Beirut", "0 0 * * *", "2022-03-26T12:00Z", ["03-27 01:00+0300", "03-28 00:00+0300"]),
        # A whole day was skipped.
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-28T00:00Z", ["12-31 00:00+1400", "12-30 12:00+1400"]),
        # Repeated: once, the first.
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["10-25 02:30+0200", "10-26 02:30+0100"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T00:45Z", ["10-26 02:30+0100"]),
        ("Europe/Berlin", "*/30 1-3 25 10 *", "2026-10-25T00:00Z", ["10-25 02:30+0200", "10-25 03:00+0100"]),
        ("America/New_York", "30 1 * * *", "2026-11-01T04:00Z", ["11-01 01:30-0400", "11-02 01:30-0500"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T13:00Z", ["04-05 01:45+1100", "04-06 01:45+1030"]),
        ("America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00Z", ["02-17 23:30-0200", "02-18 23:30-0300"]),
        # Every hour: whatever fits, and nothing at the shift for what was skipped.
        ("Europe/Berlin", "30 * * * *", "2026-03-29T00:15Z", ["03-29 01:30+0100", "03-29 03:30+0200"]),
        ("Europe/Berlin", "30 * * * *", "2026-10-25T00:15Z", ["10-25 02:30+0200", "10-25 02:30+0100"]),
        ("Australia/Lord_Howe", "0 * * * *", "2026-10-03T14:15Z", ["10-04 01:00+1030", "10-04 03:00+1100"]),
    ],
)
def test_a_shifted_clock(zone: str, cron: str, after: str, expected: list[str]) -> None:
    after = after.replace("Z", "+00:00")
    assert shown(spec_of(cron, zone), after, len(expected)) == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "UTC"])
def test_every_15_minutes_stays_so_in_real_time_all_year(zone: str) -> None:
    after = moment("2022-01-01T00:00+00:00")
    found = ticks.ticks_between(spec_of("*/15 * * * *", zone), after, after + timedelta(days=365), 100_000)

    assert {later - tick for tick, later in pairwise(found)} == {timedelta(minutes=15)}
    assert len(found) == 365 * 96


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "UTC"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "0 0 * * *", "59 23 * * *"])
def test_a_fixed_hour_runs_once_a_day_all_year(zone: str, cron: str) -> None:
    after = moment("2022-01-01T12:00+00:00")
    found = ticks.ticks_between(spec_of(cron, zone), after, after + timedelta(days=364), 1_000)

    assert len({tick.astimezone(ZoneInfo(zone)).date() for tick in found}) == len(found) == 364


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 0 29 2 *", "2026-01-01T00:00+00:00", ["2028-02-29", "2032-02-29"]),
        ("0 0 31 * *", "2026-01-31T00:00+00:00", ["2026-03-31", "2026-05-31"]),
        # Both days restricted: either; a star leaves it to the other.
        ("0 0 13 * fri", "2026-11-01T00:00+00:00", ["2026-11-06", "2026-11-13", "2026-11-20"]),
        ("0 0 1 1 1", "2026-12-26T00:00+00:00", ["2027-01-01", "2027-01-04"]),
        ("0 0 * * 7", "2026-11-01T00:00+00:00", ["2026-11-08", "2026-11-15"]),
        ("0 0 * * 5-7", "2026-11-02T00:00+00:00", ["2026-11-06", "2026-11-07", "2026-11-08"]),
        # Sunday is one day, whichever its number: a step counts it once.
        ("0 0 * * 7-2/2", "2026-11-01T12:00+00:00", ["2026-11-03", "2026-11-08", "2026-11-10"]),
        ("0 0 * * 0-7/2", "2026-11-01T12:00+00:00", ["2026-11-03", "2026-11-05", "2026-11-07", "2026-11-08"]),
        ("0 0 * * 1-7/3", "2026-11-01T12:00+00:00", ["2026-11-02", "2026-11-05", "2026-11-08", "2026-11-09"]),
    ],
)
def test_days(cron: str, after: str, expected: list[str]) -> None:
    found = islice(ticks.ticks_after(spec_of(cron), moment(after)), len(expected))
    assert [f"{tick:%Y-%m-%d}" for tick in found] == expected


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "*/5 * 31 4,6 *", "0 0 31 2,4,6,9,11 *"])
def test_a_day_that_never_comes_has_no_tick(cron: str) -> None:
    assert ticks.next_tick(spec_of(cron), START) is None


def test_start_and_end_are_ticks_and_nothing_beyond() -> None:
    start, end = moment("2026-01-01T10:00+00:00"), moment("2026-01-01T12:00+00:00")
    for spec in (spec_of("0 * * * *", start=start, end=end), every(3600, start, end)):
        assert [tick.hour for tick in ticks.ticks_after(spec, start - timedelta(days=9))] == [10, 11, 12]
        assert ticks.next_tick(spec, end) is None
        assert ticks.next_tick(spec, end - timedelta(microseconds=1)) == end


def test_an_interval_is_counted_from_its_start() -> None:
    spec = every(7, moment("2026-01-01T00:00:03+00:00"))
    found = ticks.ticks_between(spec, moment("2026-01-01T00:00:10+00:00"), moment("2026-01-01T00:00:31+00:00"))
    assert [tick.second for tick in found] == [17, 24, 31]


def test_a_start_beyond_ten_years_is_never() -> None:
    for spec in (spec_of("* * * * *", start=START + timedelta(days=3700)), every(1, START + timedelta(days=3700))):
        assert ticks.next_tick(spec, START) is None


@pytest.mark.parametrize(
    "spec", [spec_of("*/7 * * * *", "Europe/Berlin"), spec_of("0 3 * * mon", "Asia/Beirut"), every(10_007)]
)
@pytest.mark.parametrize("days", [0, 1, 40, 500])
def test_the_last_tick_and_their_number_after_a_gap(spec: Spec, days: int) -> None:
    first = next(ticks.ticks_after(spec, moment("2021-03-20T00:00+00:00")))
    until = first + timedelta(days=days, seconds=17)
    found = [first, *ticks.ticks_between(spec, first, until)]

    assert ticks.last_tick(spec, first, until) == found[-1]
    assert ticks.count_ticks(spec, first, until) == min(len(found), ticks.MOST_COUNTED)


def test_a_first_tick_of_other_times_is_followed_by_those_of_the_interval() -> None:
    """As after a change of the interval, while a tick was due."""
    spec, first = every(60, moment("2026-01-01T00:00+00:00")), moment("2026-01-01T00:00:45+00:00")

    for seconds, last, count in ((10, 45, 1), (15, 60, 2), (80, 120, 3)):
        until = first + timedelta(seconds=seconds)
        assert (ticks.last_tick(spec, first, until) - spec.start_at).total_seconds() == last
        assert ticks.count_ticks(spec, first, until) == count


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "* * * * * *", "@daily", "a b c d e", "* * * *  *", "*\t* * * *", "* * * * *\n"),
        *("60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * 0 *", "* * * * 8", "-1 * * * *"),
        *("* * * * 5-1/2", "* * * * fri-mon/2", "* * * * fri-sun"),
        *("*/0 * * * *", "*/61 * * * *", "5-1 * * * *", "1-5-7 * * * *", "*/5/6 * * * *", ", * * * *", "1, * * * *"),
        *("jan * * * *", "* * * mon *", "* * * * jan", "٣ * * * *", "1.5 * * * *", "*" * 1000, "5/15 * * * *"),
    ],
)
def test_what_is_no_cron_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidCron):
        read_cron(text)


# The days around shifts of all kinds: an hour, half an hour, at midnight, a minute past it, a whole day.
SHIFTS = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-11-01"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/St_Johns", "2010-11-07"),
    ("Asia/Beirut", "2022-03-27"),
    ("Pacific/Apia", "2011-12-30"),
    ("UTC", "2028-02-29"),
]
FIELDS = st.tuples(
    st.sampled_from(["*", "0", "30", "*/15", "1,59", "7-50/11", "*/7"]),
    st.sampled_from(["*", "0-23", "2", "0,23", "1-3", "*/6", "0", "23", "12"]),
    st.sampled_from(["*", "1", "5", "4-7", "18", "25,26", "*/2", "29-31", "30"]),
    st.sampled_from(["*", "3", "10,11", "2-12/2"]),
    st.sampled_from(["*", "sun", "1-5", "0,3"]),
)


# Clocks were put back across midnight: a day is shown, left, and shown again.
@example(fields=("0", "*", "7", "*", "*"), place=("America/St_Johns", "2010-11-07"), hours=0)
@settings(deadline=None)
@given(fields=FIELDS, place=st.sampled_from(SHIFTS), hours=st.integers(-30, 30))
def test_ticks_are_those_of_a_brute_force(fields: tuple[str, ...], place: tuple[str, str], hours: int) -> None:
    zone, day = place
    spec = spec_of(" ".join(fields), zone)
    after = moment(f"{day}T00:00+00:00") + timedelta(hours=hours, seconds=20)
    until = after + timedelta(hours=48)

    assert ticks.ticks_between(spec, after, until) == list(brute_force(spec, after, until))


def brute_force(spec: Spec, after: datetime, until: datetime) -> Iterator[datetime]:
    """Minute by minute; `seen` is the latest that the wall clock has shown."""
    cron = spec.cron
    assert cron
    now = after.replace(second=0, microsecond=0) - timedelta(hours=30)
    seen = wall_of(now, spec)
    while now <= until:
        wall = wall_of(now, spec)
        fresh = [wall] if cron.is_every_hour else minutes(seen, wall)
        if now > after and any(fits(cron, one) for one in fresh):
            yield now
        seen, now = max(seen, wall), now + MINUTE


def wall_of(now: datetime, spec: Spec) -> datetime:
    return now.astimezone(spec.zone).replace(tzinfo=None)


def minutes(seen: datetime, wall: datetime) -> list[datetime]:
    """Those after the one and up to the other."""
    return [seen + number * MINUTE for number in range(1, max(0, (wall - seen) // MINUTE) + 1)]


def fits(cron: Cron, wall: datetime) -> bool:
    return wall.minute in cron.minutes and wall.hour in cron.hours and cron.has_day(wall.date())
