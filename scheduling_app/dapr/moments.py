"""When a delayed message goes: a moment, or a duration from now. Pure; `now` is microseconds since 1970."""

import re
from datetime import MAXYEAR, UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from fractions import Fraction

from scheduling_app.dapr.errors import InvalidMetadata
from scheduling_app.door.later import LAST, InvalidScheduledFor, microseconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# A zone whose + was not escaped arrives with a blank.
_LOST_PLUS = re.compile(r"(.*[Tt][0-9:.,]+) ([0-9]{2}:?[0-9]{2})")
_NO_ZONE = re.compile(r"[0-9-]{10}[Tt][0-9:.,]+")
_NUMBER = r"([0-9]{1,15}(?:[.,][0-9]{1,9})?)"
_ISO_DURATION = re.compile(
    rf"P(?=.)(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.IGNORECASE,
)
_GO_DURATION = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{1,9})?(?:h|ms|m|s|us|\u00b5s|\u03bcs|ns))+")
_GO_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|us|\u00b5s|\u03bcs|ns)")
_WEEK, _DAY, _HOUR, _MINUTE, _SECOND = 604_800_000_000, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_GO_UNITS: dict[str, Fraction] = {
    "h": Fraction(_HOUR),
    "m": Fraction(_MINUTE),
    "s": Fraction(_SECOND),
    "ms": Fraction(1000),
    "us": Fraction(1),
    "\u00b5s": Fraction(1),
    "\u03bcs": Fraction(1),
    "ns": Fraction(1, 1000),
}


def moment(text: str, now: int) -> int:
    """The moment that a text names, in microseconds since 1970. What has no zone is UTC."""
    text = text.strip()
    found = after(text, now)
    if found is None:
        return _at(text)
    if found > LAST:
        raise _beyond()
    return found


def after(text: str, now: int) -> int | None:
    """Now and a duration, PT30S or 30s, as reminders have it; None: this is no duration."""
    if found := _ISO_DURATION.fullmatch(text):
        return _after_iso([Fraction((part or "0").replace(",", ".")) for part in found.groups()], now)
    if _GO_DURATION.fullmatch(text):
        return now + _up(sum(Fraction(number) * _GO_UNITS[unit] for number, unit in _GO_PART.findall(text)))
    return None


def _after_iso(parts: list[Fraction], now: int) -> int:
    years, months, *rest = parts
    whole = years * 12 + months
    if whole.denominator != 1:
        raise InvalidMetadata("Years and months of a duration are whole numbers.")
    sizes = (_WEEK, _DAY, _HOUR, _MINUTE, _SECOND)
    return _months_later(now, int(whole)) + _up(sum(part * size for part, size in zip(rest, sizes, strict=True)))


def _months_later(now: int, months: int) -> int:
    """By the calendar: a month after the 31st of January is the 3rd of March, or the 2nd."""
    if not months:
        return now
    at = _EPOCH + now * _MICROSECOND
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if year > MAXYEAR:
        raise _beyond()
    first = at.replace(year=year, month=month + 1, day=1)
    return (first - _EPOCH) // _MICROSECOND + (at.day - 1) * _DAY


def _at(text: str) -> int:
    if found := _LOST_PLUS.fullmatch(text):
        text = f"{found[1]}+{found[2]}"
    if _NO_ZONE.fullmatch(text):
        text += "Z"
    try:
        return microseconds(text)
    except InvalidScheduledFor:
        return _at_http_date(text)


def _at_http_date(text: str) -> int:
    """As Azure's clients write it: Tue, 20 Mar 2018 10:00:00 GMT."""
    try:
        if not text.endswith(" GMT"):
            raise ValueError(text)
        return (parsedate_to_datetime(text) - _EPOCH) // _MICROSECOND
    except (ValueError, TypeError, OverflowError):
        raise InvalidMetadata(
            "A time is ISO-8601, as 2026-12-31T23:59:59Z, or a duration from now, as PT30S or 30s."
        ) from None


def _beyond() -> InvalidMetadata:
    return InvalidMetadata("That is beyond the year 9999.")


def _up(microseconds: Fraction | int) -> int:
    """Finer parts are rounded up: nothing goes early."""
    return -int(-microseconds // 1)
