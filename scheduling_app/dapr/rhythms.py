"""A job's schedule as Dapr's clients write it: cron of five or six fields, @every 30s, @daily, 30s, R5/PT30S. Pure."""

import re
from dataclasses import dataclass

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.durations import Period, read_period
from scheduling_app.errors import InvalidCron
from scheduling_app.models.recurring import MAX_INTERVAL_SECONDS
from scheduling_app.recurring.cron import read_cron_with_seconds
from scheduling_app.recurring.zones import zones

_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every +(.+)", re.DOTALL)
# By the wall clock of a zone: CRON_TZ=Europe/Berlin 0 30 6 * * *
_ZONED = re.compile(r"(?:CRON_)?TZ=(\S+) +(.+)", re.DOTALL)
# 5/15 is 5-59/15 in Go's cron; the last value of each field, seconds first.
_OPEN_STEP = re.compile(r"^([0-9]{1,2})/([0-9]{1,2})$")
_LAST = (59, 59, 23, 31, 12, 6)
MAX_LENGTH = 255


class InvalidRhythm(BrokerError):
    """A schedule is cron of six fields (seconds first), @every and a duration, @daily and its like, or a duration."""


@dataclass(frozen=True)
class Rhythm:
    """Either cron, by the clock of a zone, or seconds; `repeats` is that of R5/PT30S."""

    cron: str | None = None
    interval_seconds: int | None = None
    timezone: str = "UTC"
    repeats: int | None = None


def read_rhythm(text: str) -> Rhythm:
    if len(text) > MAX_LENGTH:
        raise InvalidRhythm(f"A schedule has at most {MAX_LENGTH} characters.")
    if text in _NAMED:
        return Rhythm(cron=_NAMED[text])
    every = _EVERY.fullmatch(text)
    period = read_period(every[1] if every else text)
    if period is not None:
        return _interval(period)
    if text.startswith("@"):
        raise InvalidRhythm
    return _zoned(text)


def _interval(period: Period) -> Rhythm:
    """In whole seconds, one at least, as Dapr's scheduler counts them."""
    if not 0 < period.seconds <= MAX_INTERVAL_SECONDS:
        raise InvalidRhythm(f"A schedule repeats after {MAX_INTERVAL_SECONDS // 86400} days at the latest.")
    return Rhythm(interval_seconds=max(1, int(period.seconds)), repeats=period.repeats)


def _zoned(text: str) -> Rhythm:
    found = _ZONED.fullmatch(text)
    if found is None:
        return Rhythm(cron=_cron(text))
    if found[1] not in zones():
        raise InvalidRhythm("There is no such time zone here.")
    return Rhythm(cron=_cron(found[2]), timezone=found[1])


def _cron(text: str) -> str:
    """In this broker's words."""
    fields = text.split()
    if len(fields) not in (5, 6):
        raise InvalidRhythm
    meant = " ".join(_field(one, last) for one, last in zip(fields, _LAST[-len(fields) :], strict=True))
    try:
        read_cron_with_seconds(meant)
    except InvalidCron as refusal:
        raise InvalidRhythm(f"This schedule cannot be read: {refusal.detail}") from None
    return meant


def _field(text: str, last: int) -> str:
    """`?` is any day; a step from a number on goes to the field's end."""
    if text == "?":
        return "*"
    return ",".join(_OPEN_STEP.sub(rf"\1-{last}/\2", item) for item in text.split(","))
