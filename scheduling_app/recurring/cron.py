"""A cron expression, read or refused: by django-celery-beat's rules, expanded by Celery's parser.

Ours have five fields. Those of other systems may have six: seconds first.
"""

import re
from dataclasses import replace
from functools import lru_cache

from celery.schedules import ParseException, crontab_parser
from django.core.exceptions import ValidationError
from django_celery_beat.validators import crontab_validator

from scheduling_app.errors import InvalidCron
from scheduling_app.recurring.ticks import Cron

# Celery's parser overlooks what stands behind a match, and takes the name of a month for a minute.
_NUMBER, _STEP = r"[0-9]{1,2}", r"(/[0-9]{1,2})?"
_NAMES = {
    3: "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
    4: "sun|mon|tue|wed|thu|fri|sat",
}
# How many values each field has, and the first.
_FIELDS = ((60, 0), (24, 0), (31, 1), (12, 1), (7, 0))
# Sunday is 0, and 7 too; but a step may be 7.
_WHOLE_WEEK = re.compile(r"(?<![^,])(0?0|sun)-0?7(?![0-9])")
NO_SECONDS = "The first of six fields is not a number of seconds, a range, a step or a list of them."
_SEVEN = re.compile(r"(?<![/0-9])0?7(?![0-9])")


@lru_cache(10_000)
def read_cron(text: str) -> Cron:
    fields = text.lower().split(" ")
    if len(fields) != len(_FIELDS) or not all(_pattern(place).fullmatch(one) for place, one in enumerate(fields)):
        raise InvalidCron
    try:
        crontab_validator(" ".join(fields))
        found = [crontab_parser(*size).parse(one) for size, one in zip(_FIELDS, _on_a_ring(fields), strict=True)]
    except (ValidationError, ParseException, ValueError) as error:
        raise InvalidCron(f"This is not a cron expression of five fields: {_reason(error)}") from error
    minutes, hours, days, months, weekdays = found
    return Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(weekdays),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )


@lru_cache(10_000)
def read_cron_with_seconds(text: str) -> Cron:
    """Of six fields, or of five."""
    first, _, rest = text.partition(" ")
    if rest.count(" ") < len(_FIELDS) - 1:
        return read_cron(text)
    if not _pattern(0).fullmatch(first):
        raise InvalidCron(NO_SECONDS)
    try:
        seconds = crontab_parser(*_FIELDS[0]).parse(first)
    except (ParseException, ValueError) as error:
        raise InvalidCron(NO_SECONDS) from error
    return replace(read_cron(rest), seconds=tuple(sorted(seconds)))


def _on_a_ring(fields: list[str]) -> list[str]:
    """With seven weekdays: with Sunday twice, the step of a range over it would count it twice."""
    return [*fields[:-1], _SEVEN.sub("0", _WHOLE_WEEK.sub("*", fields[-1]))]


@lru_cache
def _pattern(place: int) -> re.Pattern[str]:
    value = f"({'|'.join(filter(None, (_NUMBER, _NAMES.get(place))))})"
    item = rf"(\*{_STEP}|{value}(-{value}{_STEP})?)"
    return re.compile(f"{item}(,{item})*")


def _reason(error: Exception) -> str:
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
