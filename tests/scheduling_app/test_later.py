"""The time that a message names."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from channels_app.registry import Entry
from scheduling_app.door.later import (
    InvalidScheduledFor,
    ScheduledTooSoon,
    microseconds,
    moment,
    times_for,
)
from scheduling_app.errors import DelayedMessagingDisabled

CHANNEL = Entry(1, "token")
NOON = 1_830_340_800_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2028-01-01T12:00:00Z", NOON),
        ("2028-01-01t12:00:00z", NOON),
        ("2028-01-01T12:00Z", NOON),
        ("2028-01-01T14:00:00+02:00", NOON),
        ("2028-01-01T07:30:00-0430", NOON),
        ("2028-01-01T12:00:00.5Z", NOON + 500_000),
        ("2028-01-01T12:00:00,000001Z", NOON + 1),
        ("2028-01-01T12:00:00.000000001Z", NOON + 1),
        ("2028-01-01T12:00:00.000001001Z", NOON + 2),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000_000),
    ],
)
def test_iso_times_are_read_to_the_microsecond_and_never_early(text: str, expected: int) -> None:
    assert microseconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2025/12/31 23:59:59",
        "2028-01-01T12:00:00",
        "2028-01-01 12:00:00Z",
        "2028-01-01",
        "",
        " ",
        "99999-01-01T00:00:00Z",
        "2028-12-31T23:59:60Z",
        "2028-02-30T00:00:00Z",
        "2028-01-01T24:00:00Z",
        "2028-01-01T12:00:00+25:00",
        "2028-01-01T12:00:00Z ",
        "2028-01-01T12:00:00Z, 2028-01-01T12:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "9999-12-31T23:59:59.999999001Z",
        "٢٠٢٨-01-01T12:00:00Z",
        "tomorrow",
        1_830_340_800,
        None,
        ["2028-01-01T12:00:00Z"],
    ],
)
def test_whatever_else_is_refused(text: Any) -> None:
    with pytest.raises(InvalidScheduledFor):
        microseconds(text)


def iso(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


@pytest.mark.parametrize("ahead", [{"minutes": -5}, {"seconds": 0}, {"minutes": 1}, {"seconds": 119}])
def test_too_near_and_past_are_412(ahead: dict[str, float]) -> None:
    with pytest.raises(ScheduledTooSoon) as refused:
        times_for(iso(**ahead), CHANNEL)

    assert refused.value.status == 412


def test_where_no_delay_is_asked_for_a_past_time_is_said_to_be_over(settings: Any) -> None:
    settings.MIN_SCHEDULE_DELAY_MINUTES = 0
    with pytest.raises(ScheduledTooSoon, match="This time is over"):
        times_for(iso(seconds=-1), CHANNEL)


def test_a_channel_may_take_none_for_later() -> None:
    """Said before the time is found too near, and after it is found wrong."""
    shut = Entry(1, "token", delayed_messaging=False)
    with pytest.raises(DelayedMessagingDisabled):
        times_for(iso(minutes=-5), shut)
    with pytest.raises(InvalidScheduledFor):
        times_for("soon", shut)


def test_nothing_is_spread_past_the_last_moment_that_can_be_read_back() -> None:
    last = "9999-12-31T23:59:59.999999Z"

    times = times_for(last, Entry(1, "token", spread_seconds=86_400.0))

    assert times.asked == times.due == microseconds(last)
    assert moment(last).isoformat() == "9999-12-31T23:59:59.999999+00:00"


def test_a_channel_may_spread_what_is_due_at_once() -> None:
    asked = iso(hours=1)
    spread = Entry(1, "token", spread_seconds=10.0)

    dues = [times_for(asked, spread).due - times_for(asked, CHANNEL).due for _ in range(100)]

    assert 0 <= min(dues) < max(dues) < 10_000_000
    assert len(set(dues)) > 90
