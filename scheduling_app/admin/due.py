"""When a message is due, as a filter: its pages come in the order in which they will go, by index."""

import re
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter

from channels_app.admin.endless import EndlessList
from scheduling_app.models import ScheduledStatus
from scheduling_app.outlook import EVER, Place, Window, due

PARAMETER = "due"
ASIDE = "aside"
OVERDUE = "overdue"
_AHEAD = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
_MICROSECOND = timedelta(microseconds=1)
_CURSOR = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


def window_of(word: str | None, now: datetime) -> Window | None:
    if word == OVERDUE:
        return Window(EVER, now)
    return Window(now, now + _AHEAD[word]) if word in _AHEAD else None


class DueFilter(RadioFilter):
    """Of those that wait: what comes soon, and what should have gone. And those that could not go."""

    title = "due"
    parameter_name = PARAMETER

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("hour", "In the next hour"),
            ("day", "In the next day"),
            ("week", "In the next week"),
            (OVERDUE, "Overdue"),
            (ASIDE, "Set aside"),
        ]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == ASIDE:
            return queryset.filter(status=ScheduledStatus.SET_ASIDE)
        window = window_of(self.value(), timezone.now())
        if window is None:
            return queryset
        return queryset.filter(status=ScheduledStatus.SCHEDULED, due_at__gte=window.since, due_at__lt=window.until)


class ScheduledList(EndlessList):
    """Newest first; with a time asked for, soonest first: then `p` is the place that the page comes after."""

    def get_results(self, request: HttpRequest) -> None:
        window = window_of(request.GET.get(PARAMETER), timezone.now())
        # Who searches has few rows, in whatever order.
        if window is None or self.query:
            super().get_results(request)
        else:
            self._soonest_first(request, window)
        self.show_admin_actions = True

    def _soonest_first(self, request: HttpRequest, window: Window) -> None:
        after = _place(request.GET.get(PAGE_VAR, ""))
        places = due(window, most=self.list_per_page + 1, channel_id=self._channel_id(), after=after)
        rows = {row.pk: row for row in self.queryset.filter(pk__in=[place.id for place in places])}
        self.show_page([rows[place.id] for place in places if place.id in rows], is_first=after is None)
        self.first_word, self.further_word, self.order_words = "Soonest", "Later", "soonest first"
        if len(places) > self.list_per_page and rows:
            self.older = _cursor(places[self.list_per_page - 1])

    def _channel_id(self) -> int | None:
        """What is no number finds no row, whatever is looked at."""
        text = self.params.get("channel__id__exact", "")
        return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _place(text: str) -> Place | None:
    found = _CURSOR.fullmatch(text)
    try:
        return Place(EVER + int(found[1]) * _MICROSECOND, int(found[2])) if found else None
    except OverflowError:
        return None


def _cursor(place: Place) -> str:
    return f"{(place.due_at - EVER) // _MICROSECOND}-{place.id}"
