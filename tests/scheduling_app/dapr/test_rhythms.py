"""A job's schedule, as Dapr's clients write it."""

import pytest

from scheduling_app.dapr.rhythms import InvalidRhythm, Rhythm, read_rhythm


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@every 30s", Rhythm(interval_seconds=30)),
        ("@every 1h30m", Rhythm(interval_seconds=5400)),
        ("@every PT5M", Rhythm(interval_seconds=300)),
        # Whole seconds, one at least.
        ("@every 500ms", Rhythm(interval_seconds=1)),
        ("@every 2.7s", Rhythm(interval_seconds=2)),
        ("2h45m", Rhythm(interval_seconds=9900)),
        ("PT30S", Rhythm(interval_seconds=30)),
        ("R5/PT30S", Rhythm(interval_seconds=30, repeats=5)),
        ("R/P1D", Rhythm(interval_seconds=86400)),
        ("@yearly", Rhythm(cron="0 0 1 1 *")),
        ("@annually", Rhythm(cron="0 0 1 1 *")),
        ("@monthly", Rhythm(cron="0 0 1 * *")),
        ("@weekly", Rhythm(cron="0 0 * * 0")),
        ("@daily", Rhythm(cron="0 0 * * *")),
        ("@midnight", Rhythm(cron="0 0 * * *")),
        ("@hourly", Rhythm(cron="0 * * * *")),
        ("0 30 * * * *", Rhythm(cron="0 30 * * * *")),
        ("30 6 * * *", Rhythm(cron="30 6 * * *")),
        ("0  0 12 ? * MON-FRI", Rhythm(cron="0 0 12 * * MON-FRI")),
        ("5/15 0/10 1-5/2 * jan,mar ?", Rhythm(cron="5-59/15 0-59/10 1-5/2 * jan,mar *")),
        ("CRON_TZ=Europe/Berlin 0 30 6 * * *", Rhythm(cron="0 30 6 * * *", timezone="Europe/Berlin")),
        ("TZ=Asia/Tokyo 0 30 6 * * *", Rhythm(cron="0 30 6 * * *", timezone="Asia/Tokyo")),
    ],
)
def test_a_schedule_is_read(text: str, meant: Rhythm) -> None:
    assert read_rhythm(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "@", "@every", "@every ", "@every soon", "@sometimes", "@Daily", "0s", "-5s", "@every -1h", "P1M"),
        *("@every 9000h", "* * * *", "* * * * * * *", "61 * * * * *", "0 * * * * 9", "? * * * * x", "R5/P1Y"),
        *("CRON_TZ=Nowhere/Town 0 0 * * * *", "CRON_TZ=UTC", "TZ= 0 0 * * * *", "0 0 * * * \x00", "\ud800", "*" * 256),
    ],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(InvalidRhythm):
        read_rhythm(text)
