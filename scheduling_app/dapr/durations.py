"""Times of jobs: when one is due, and the period of one that repeats. Pure; its grammar is that of delayed messages."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.errors import InvalidMetadata
from scheduling_app.dapr.moments import after, moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# R5/PT30S: five times, thirty seconds apart; R/PT30S: without an end.
_REPEATED = re.compile(r"R([0-9]{1,9})?/(P.+)")
_OF_THE_CALENDAR = re.compile(r"P[^T]*[YM]", re.IGNORECASE)


class InvalidTime(BrokerError):
    """A time is RFC 3339 (2026-12-31T23:59:59Z), or a duration from now: 1h30m, PT30S."""


class Period(NamedTuple):
    """Seconds, with their parts, from one time to the next, and how many times if that is said."""

    seconds: float
    repeats: int | None = None


def read_period(text: str) -> Period | None:
    """None: it is no duration, or one whose length depends on the calendar."""
    found = _REPEATED.fullmatch(text)
    duration = found[2] if found else text
    if _OF_THE_CALENDAR.match(duration):
        return None
    length = after(duration, 0)
    if length is None:
        return None
    return Period(length / 1_000_000, int(found[1]) if found and found[1] else None)


def read_moment(text: str, now: datetime) -> datetime:
    """A point in time, or a duration from now. Without a zone it is UTC."""
    try:
        return _EPOCH + moment(text, (now - _EPOCH) // _MICROSECOND) * _MICROSECOND
    except (InvalidMetadata, OverflowError):
        raise InvalidTime from None
