"""The next hours as bars."""

from dataclasses import dataclass
from typing import Any

from channels_app.admin.links import listed
from scheduling_app.admin.due import OVERDUE, PARAMETER
from scheduling_app.models import ScheduledMessage
from scheduling_app.outlook import HOURS, Hour, Outlook

# A bar that is there can be seen, and labels have room on a phone.
LEAST_PERCENT = 3
LABEL_EVERY = 4


@dataclass(frozen=True)
class Bar:
    """`height` in percent of the tallest; `label` for some, so that they can be read."""

    hour: str
    count: str
    height: int
    label: str


def picture(outlook: Outlook) -> dict[str, Any]:
    peak = outlook.busiest.count
    return {
        "bars": [_bar(hour, place, peak) for place, hour in enumerate(outlook.hours)],
        "words": _words(outlook),
        "overdue": written_count(outlook.overdue) if outlook.overdue.count else "",
        "overdue_url": listed(ScheduledMessage, **{PARAMETER: OVERDUE}),
    }


def written_count(hour: Hour) -> str:
    return f"{hour.count:,}{' or more' if hour.is_more else ''}"


def _bar(hour: Hour, place: int, peak: int) -> Bar:
    height = max(LEAST_PERCENT, round(100 * hour.count / peak)) if hour.count else 0
    clock = f"{hour.since:%H:%M}"
    return Bar(clock, written_count(hour), height, "" if place % LABEL_EVERY else clock)


def _words(outlook: Outlook) -> str:
    if not outlook.total:
        return f"Nothing is due in the next {HOURS} hours."
    total = f"{outlook.total:,}{' or more' if outlook.is_more else ''}"
    return f"{total} in all; most, {written_count(outlook.busiest)}, from {outlook.busiest.since:%H:%M} UTC."
