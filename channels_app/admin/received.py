"""When a message came, asked without an index on time: ids rise with time, so a time is a place among the ids."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max, Min, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RangeDateTimeFilter
from unfold.contrib.filters.admin.datetime_filters import EMPTY_VALUES

from channels_app.models import Message

# Groups that are stored at the same time mix: an id may be this much out of order, and is not.
SLACK = timedelta(minutes=1)


def first_id_since(at: datetime) -> int:
    """By halving: some two dozen looks at the primary key find the place among millions."""
    ends = Message.objects.aggregate(low=Min("pk"), high=Max("pk"))
    low, high = ends["low"] or 0, (ends["high"] or 0) + 1
    while low < high:
        middle = (low + high) // 2
        pk, received_at = Message.objects.filter(pk__gte=middle).order_by("pk").values_list(
            "pk", "received_at"
        ).first() or (0, at)
        low, high = (pk + 1, high) if received_at < at else (low, middle)
    return low


class ReceivedFilter(RangeDateTimeFilter):
    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since, until = self._time("from", "00:00:00"), self._time("to", "23:59:59")
        if since:
            queryset = queryset.filter(received_at__gte=since, pk__gte=first_id_since(since - SLACK))
        if until:
            queryset = queryset.filter(received_at__lte=until, pk__lt=first_id_since(until + SLACK))
        return queryset

    def _time(self, end: str, default: str) -> datetime | None:
        """A day alone means all of it. What is no time is no limit."""
        day, clock = (self.used_parameters.get(f"{self.parameter_name}_{end}_{part}") for part in (0, 1))
        if day in EMPTY_VALUES:
            return None
        try:
            return datetime.fromisoformat(f"{day}T{clock or default}").replace(tzinfo=UTC)
        except ValueError:
            return None
