"""What a report was asked for: from when to when, of which channels, against which target."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from spark_analytics.errors import BadRange, BadTarget

HOUR = timedelta(hours=1)
SLA_SECONDS = 60.0
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(3000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Asked:
    """Whole hours in UTC, the end not among them. No channels: all of them."""

    start: datetime
    end: datetime
    channels: tuple[str, ...] = ()
    sla_seconds: float = SLA_SECONDS
    # So that the page can say that the range is more than what was asked for.
    widened: bool = False

    @classmethod
    def between(
        cls, start: datetime, end: datetime, *, channels: tuple[str, ...] = (), sla_seconds: float = SLA_SECONDS
    ) -> Self:
        """Any two moments with a zone, widened to the hours that they are in."""
        _check_range(start, end)
        if not (math.isfinite(sla_seconds) and sla_seconds > 0):
            raise BadTarget
        first, last = _hour_of(start), _hour_up(end)
        return cls(first, last, channels, sla_seconds, widened=(first, last) != (start, end))

    @property
    def hours(self) -> int:
        return (self.end - self.start) // HOUR

    @property
    def before(self) -> Self:
        """The same for as many hours that went before."""
        return replace(self, start=self.start - self.hours * HOUR, end=self.start)


def _check_range(start: datetime, end: datetime) -> None:
    if start.tzinfo is None or end.tzinfo is None:
        raise BadRange("A report's times have a zone.")
    if start < EARLIEST or end > LATEST:
        raise BadRange
    if start >= end:
        raise BadRange(
            f"A report ends after it begins: {end:%Y-%m-%d %H:%M %Z} is not after {start:%Y-%m-%d %H:%M %Z}."
        )


def _hour_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _hour_up(moment: datetime) -> datetime:
    hour = _hour_of(moment)
    return hour if hour == moment else hour + HOUR
