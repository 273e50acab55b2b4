"""Which letters an address of the list asks for: as filters of the list, and as the filter of an act on all of them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter, RangeDateTimeFilter

from channels_app.reasons import Reason
from dlq_app.filters import LetterFilter, Window, within
from dlq_app.models import DeadLetter

CAUSE, AGE = "cause", "age"
ENTERED = {end: (f"entered_at_{end}_0", f"entered_at_{end}_1") for end in ("from", "to")}
CHANNEL, CONSUMER, REASON, WORDS = "channel__id__exact", "consumer__id__exact", "reason__exact", "q"
LOOKUPS = frozenset({CHANNEL, CONSUMER, REASON, CAUSE, AGE, *ENTERED["from"], *ENTERED["to"]})
SHOWN_CHARACTERS = 80
BIGGEST = 2**63 - 1

_HOUR, _DAY, _WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
# Each letter is of one age: what is older than the first and not older than the second.
_AGES: dict[str, tuple[timedelta | None, timedelta | None]] = {
    "hour": (None, _HOUR),
    "day": (_HOUR, _DAY),
    "week": (_DAY, _WEEK),
    "older": (_WEEK, None),
}
AGES = (
    ("hour", "Up to an hour"),
    ("day", "An hour to a day"),
    ("week", "A day to a week"),
    ("older", "More than a week"),
)
_SECOND = timedelta(seconds=1)


def age_window(word: str | None, now: datetime) -> Window:
    """From when, and before when, letters of this age have entered."""
    young, old = _AGES.get(word or "", (None, None))
    return now - old if old else None, now - young if young else None


def entered_window(asked: Mapping[str, Any]) -> Window:
    since, until = _time(asked, "from", "00:00:00"), _time(asked, "to", "23:59:59")
    # The last second is meant to its end.
    return since, until + _SECOND if until else None


def _time(asked: Mapping[str, Any], end: str, default: str) -> datetime | None:
    """A day alone means all of it. What is no time is no limit."""
    day, clock = (asked.get(name) for name in ENTERED[end])
    try:
        at = datetime.fromisoformat(f"{day}T{clock or default}").replace(tzinfo=UTC)
    except ValueError:
        return None
    # What is a little before or after it must be a time as well.
    return at if 1 < at.year < 9999 else None


class EnteredFilter(RangeDateTimeFilter):
    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return within(queryset, entered_window(self.used_parameters))


class AgeFilter(RadioFilter):
    title = "age"
    parameter_name = AGE

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return list(AGES)

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return within(queryset, age_window(self.value(), timezone.now()))


class CauseFilter(RadioFilter):
    """Nobody types a fingerprint: the overview and each letter lead here. Shown while one is asked for."""

    title = "cause"
    parameter_name = CAUSE

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        asked = request.GET.get(CAUSE, "")
        return [(asked, cause_told(asked))] if asked else []

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        fingerprint = _fingerprint(self.value())
        return queryset.none() if fingerprint is None else queryset.filter(fingerprint=fingerprint)


def _fingerprint(text: str) -> int | None:
    """The way it stands in an address; what is no fingerprint is nobody's."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def cause_told(text: str) -> str:
    """What the newest letter of this cause says."""
    fingerprint = _fingerprint(text)
    letters = DeadLetter.objects.none() if fingerprint is None else DeadLetter.objects.filter(fingerprint=fingerprint)
    error = letters.open().order_by("-pk").values_list("error", flat=True).first()
    return cut(error or "No error was told", SHOWN_CHARACTERS) if error is not None else "No open letter has it"


def is_number(text: str) -> bool:
    """One that can be an id."""
    return text.isascii() and text.isdigit() and len(text) < 19


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class AskedForm(forms.Form):
    """An act on all that match is not done to others because an address was mistyped: here, all must be right."""

    channel = forms.IntegerField(min_value=1, max_value=BIGGEST, required=False)
    consumer = forms.IntegerField(min_value=1, max_value=BIGGEST, required=False)
    reason = forms.ChoiceField(choices=[(reason.value, reason.value) for reason in Reason], required=False)
    cause = forms.IntegerField(min_value=-BIGGEST - 1, max_value=BIGGEST, required=False)
    age = forms.ChoiceField(choices=AGES, required=False)
    words = forms.CharField(max_length=1000, required=False)


_PLACES = {"channel": CHANNEL, "consumer": CONSUMER, "reason": REASON, "cause": CAUSE, "age": AGE, "words": WORDS}


def meant(asked: Mapping[str, Any], now: datetime) -> LetterFilter | None:
    """All that an address asks for, or None for one that cannot be understood to the letter."""
    form = AskedForm({name: asked.get(place, "") for name, place in _PLACES.items()})
    windows = [entered_window(asked)]
    times = sum(1 for end in ENTERED.values() if asked.get(end[0]))
    if set(asked) - LOOKUPS - {WORDS} or not form.is_valid() or times != sum(map(bool, windows[0])):
        return None
    told = form.cleaned_data
    windows.append(age_window(told["age"], now))
    return LetterFilter(
        channel_id=told["channel"],
        consumer_id=told["consumer"],
        reason=told["reason"] or None,
        fingerprint=told["cause"],
        words=told["words"] or None,
        entered_from=max((since for since, _ in windows if since), default=None),
        entered_before=min((before for _, before in windows if before), default=None),
    )
