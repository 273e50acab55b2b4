"""Durations as Go writes them: 900ms, 1m30s, 24h0m0s. Pure, in whole nanoseconds."""

import re
from decimal import Decimal

from scheduling_app.querator.errors import InvalidOption

SECOND = 1_000_000_000
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|h|m|s)", re.ASCII)
_WHOLE = re.compile(rf"[+-]?(?:0|(?:{_PART.pattern})+)", re.ASCII)
# Longer ones are not looked at: no duration that is allowed anywhere needs so much.
MAX_LENGTH = 64


def parse(field: str, text: str) -> int:
    if len(text) > MAX_LENGTH or not _WHOLE.fullmatch(text):
        raise InvalidOption(f"{field} is invalid; '{text[:MAX_LENGTH]}' is no duration, as 900ms, 5m or 24h")
    total = sum(Decimal(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return -int(total) if text.startswith("-") else int(total)


def shown(nanoseconds: int) -> str:
    """1m0s, as Go says it; below a second in the largest unit that fits."""
    if nanoseconds < SECOND:
        return _small(nanoseconds)
    minutes, rest = divmod(nanoseconds, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_number(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def shown_seconds(seconds: float) -> str:
    return shown(max(0, round(seconds * 1000)) * 1_000_000)


def _small(nanoseconds: int) -> str:
    if nanoseconds <= 0:
        return "0s"
    unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _UNITS[unit])
    return f"{_number(nanoseconds, _UNITS[unit])}{unit}"


def _number(nanoseconds: int, unit: int) -> str:
    text = format(Decimal(nanoseconds) / unit, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
