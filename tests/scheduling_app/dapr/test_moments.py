"""When a delayed message goes, by a table of cases."""

from datetime import UTC, datetime, timedelta

import pytest

from scheduling_app.dapr.errors import InvalidMetadata
from scheduling_app.dapr.moments import moment

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def microseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2030-05-06T07:08:09Z", datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2030-05-06T07:08:09", datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2030-05-06T07:08", datetime(2030, 5, 6, 7, 8, tzinfo=UTC)),
        ("2030-05-06T07:08:09+05:00", datetime(2030, 5, 6, 2, 8, 9, tzinfo=UTC)),
        ("2030-05-06T07:08:09 05:00", datetime(2030, 5, 6, 2, 8, 9, tzinfo=UTC)),
        ("2030-05-06T07:08:09.5 0530", datetime(2030, 5, 6, 1, 38, 9, 500_000, tzinfo=UTC)),
        ("2030-05-06T07:08:09-05:00", datetime(2030, 5, 6, 12, 8, 9, tzinfo=UTC)),
        (" 2030-05-06T07:08:09.0000001Z ", datetime(2030, 5, 6, 7, 8, 9, 1, tzinfo=UTC)),
        ("Mon, 06 May 2030 07:08:09 GMT", datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("PT30S", datetime(2026, 1, 31, 12, 0, 30, tzinfo=UTC)),
        ("pt1h2m3.5s", datetime(2026, 1, 31, 13, 2, 3, 500_000, tzinfo=UTC)),
        ("P1D", datetime(2026, 2, 1, 12, tzinfo=UTC)),
        ("P2W", datetime(2026, 2, 14, 12, tzinfo=UTC)),
        ("P1M", datetime(2026, 3, 3, 12, tzinfo=UTC)),
        ("P1Y2M", datetime(2027, 3, 31, 12, tzinfo=UTC)),
        ("30s", datetime(2026, 1, 31, 12, 0, 30, tzinfo=UTC)),
        ("1h15m", datetime(2026, 1, 31, 13, 15, tzinfo=UTC)),
        ("1.5h", datetime(2026, 1, 31, 13, 30, tzinfo=UTC)),
        ("300ms", datetime(2026, 1, 31, 12, 0, 0, 300_000, tzinfo=UTC)),
        ("1ns", datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC)),
        ("0s", NOW),
    ],
)
def test_a_moment_or_a_duration_is_understood(text: str, at: datetime) -> None:
    assert moment(text, microseconds(NOW)) == microseconds(at)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "30",
        "-30s",
        "P",
        "PT",
        "P1H",
        "1d",
        "P0.5M",
        "P9000Y",
        "999999999999999h",
        "2030-05-06",
        "2030-02-30T00:00:00Z",
        "2030-05-06T25:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "2030-05-06T07:08:09 +05:00",
        "Mon, 06 May 99999 07:08:09 GMT",
        "2030-05-06T07:08:09Zjunk",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidMetadata):
        moment(text, microseconds(NOW))
