"""Times of jobs, as Dapr's clients write them."""

from datetime import UTC, datetime

import pytest

from scheduling_app.dapr.durations import InvalidTime, Period, read_moment, read_period

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("100ms", 0.1),
        ("2us", 0.000002),
        ("2µs", 0.000002),
        ("2μs", 0.000002),
        # Finer than a microsecond: rounded up.
        ("1ns", 0.000001),
        ("1h1m1s1ms", 3661.001),
        ("PT30S", 30),
        ("PT0.5S", 0.5),
        ("PT1,5S", 1.5),
        ("P1DT2H3M4S", 93784),
        ("P2W", 14 * 86400),
    ],
)
def test_a_duration_is_a_period(text: str, seconds: float) -> None:
    assert read_period(text) == Period(seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "s", "30", "1x", "1d", "h1", "1h 30m", " 30s", "30s ", "-1s", "P", "PT", "P1S", "PT1D", "1PT"),
        *("R5PT1S", "Rx/PT1S", "R5/30s", "R/", "P1H", "PT5", "²s", "٣s", "1e3s", "30s\x00", "P1Y2", "P1M", "P1Y"),
        *("2026-01-01", "tomorrow", "99999999999999999999s", "\ud800"),
    ],
)
def test_what_is_no_period_is_not_read_as_one(text: str) -> None:
    assert read_period(text) is None


@pytest.mark.parametrize(
    ("text", "repeats"), [("R5/PT10S", 5), ("R/PT10S", None), ("R0/PT10S", 0), ("R000002/PT10S", 2)]
)
def test_repetitions_are_read(text: str, repeats: int | None) -> None:
    assert read_period(text) == Period(10, repeats)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2045-11-05T08:15:30-05:00", "2045-11-05T13:15:30Z"),
        ("2045-11-05T08:15:30Z", "2045-11-05T08:15:30Z"),
        # Without a zone it is UTC.
        ("2045-11-05T08:15:30", "2045-11-05T08:15:30Z"),
        ("2045-11-05T08:15:30.1234567Z", "2045-11-05T08:15:30.123457Z"),
        ("30s", "2026-01-31T12:00:30Z"),
        ("P1D", "2026-02-01T12:00:00Z"),
        # As Go counts: there is no 31 February.
        ("P1M", "2026-03-03T12:00:00Z"),
        ("P12M", "2027-01-31T12:00:00Z"),
    ],
)
def test_a_moment_is_a_point_in_time_or_a_duration_from_now(text: str, at: str) -> None:
    assert read_moment(text, NOW) == datetime.fromisoformat(at)


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00Z", "R5/PT10S", "R/PT10S", "P9999Y"),
        *("9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00Z\x00", "\ud800", "99999999999999h", "P999999999999999D"),
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidTime):
        read_moment(text, NOW)
