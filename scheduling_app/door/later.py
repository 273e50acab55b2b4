"""When a message is meant for: the time that it names, checked in the contract's order."""

import random
import re
import time
from datetime import UTC, datetime, timedelta

from django.conf import settings

from broker_project.lib.errors import BrokerError
from channels_app.registry import Entry
from scheduling_app.accept import Times
from scheduling_app.errors import DelayedMessagingDisabled

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(?:([Zz])|([+-]\d\d):?([0-5]\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# What is later than this could not be read back.
LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
TIME_OVER = "This time is over: a message is scheduled for one that is to come."


class InvalidScheduledFor(BrokerError):
    """The time of a scheduled message is ISO-8601 with a zone, as 2026-12-31T23:59:59Z."""


class ScheduledTooSoon(BrokerError):
    """The time of a scheduled message is too near, or past."""

    status = 412


def times_for(text: object, channel: Entry) -> Times:
    """When it is asked for, if the channel takes such messages and it is far enough ahead."""
    asked = microseconds(text)
    if not channel.delayed_messaging:
        raise DelayedMessagingDisabled
    check_delay(asked)
    return spread_over(asked, channel)


def spread_over(asked: int, channel: Entry) -> Times:
    """What was asked for, and when it is due: later by a random part of what the channel spreads."""
    spread = random.randrange(round(channel.spread_seconds * 1_000_000)) if channel.spread_seconds else 0  # noqa: S311
    return Times(asked, min(asked + spread, LAST))


def check_delay(asked: int) -> None:
    least = settings.MIN_SCHEDULE_DELAY_MINUTES
    if asked < time.time() * 1_000_000 + least * 60_000_000:
        raise ScheduledTooSoon(f"A message is scheduled at least {least:g} minutes ahead." if least else TIME_OVER)


def microseconds(text: object) -> int:
    """Since 1970. Finer parts are rounded up: nothing goes early."""
    found = _ISO.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidScheduledFor
    day, clock, fraction, zulu, hours, minutes = found.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zulu else f'{hours}:{minutes}'}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidScheduledFor from None
    # Nine digits are nanoseconds; a part of a microsecond counts as one.
    nanoseconds = int((fraction or "0").ljust(9, "0"))
    found_at = (at - _EPOCH) // _MICROSECOND - (-nanoseconds // 1000)
    if found_at > LAST:
        raise InvalidScheduledFor
    return found_at


def moment(text: object) -> datetime:
    return _EPOCH + microseconds(text) * _MICROSECOND


def new_moment(text: object) -> datetime:
    """For a message that waits already: the minimum delay applies again."""
    check_delay(microseconds(text))
    return moment(text)
