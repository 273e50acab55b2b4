"""Hours from before numbers were recorded, as the lake's roll-ups know them. In a `reports` worker: they need Spark."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Max, Min
from django.utils import timezone

from channels_app.models import Progress
from reports_app import spark
from reports_app.models import LakeSlice
from watch_app.histogram import EDGES
from watch_app.models import Flow, Recorded, Source, Step
from watch_app.record import LOCK

log = structlog.get_logger(__name__)

# How far the lake's exports were looked at.
SEEN = "lake-watched"
# As much as is read and written at once.
A_STRETCH = timedelta(days=7)
A_BATCH = 2_000
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class News:
    """The days of what was exported since, and when the last of it was."""

    first_day: date
    last_day: date
    exported_at: datetime


def news() -> News | None:
    """None: the lake is as it was."""
    seen = Progress.objects.filter(name=SEEN).values_list("at", flat=True).first() or _EVER
    fresh = LakeSlice.objects.filter(exported_at__gt=seen).exclude(first_day=None)
    found = fresh.aggregate(first_day=Min("first_day"), last_day=Max("last_day"), exported_at=Max("exported_at"))
    return News(**found) if found["exported_at"] else None


def fill() -> int:
    """Hours that were recorded stay as they are; how many rows were written for the others."""
    told = news()
    if told is None:
        return 0
    written = sum(_fill(*days) for days in _stretches(told.first_day, told.last_day))
    Progress.objects.update_or_create(name=SEEN, defaults={"at": told.exported_at})
    log.info("watch.filled", first_day=str(told.first_day), last_day=str(told.last_day), rows=written)
    return written


def _stretches(first: date, last: date) -> Iterator[tuple[date, date]]:
    while first <= last:
        until = min(last, first + A_STRETCH - timedelta(days=1))
        yield first, until
        first = until + timedelta(days=1)


def _fill(first: date, last: date) -> int:
    found = spark.hours(first, last, EDGES)
    start, end = _midnight(first), _midnight(last) + timedelta(days=1)
    with transaction.atomic():
        # The sweep leaves its flows until we are done.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        hours = Recorded.objects.filter(step=Step.HOUR, at__gte=start, at__lt=end)
        hours.filter(source=Source.ROLLUP).delete()
        recorded = set(hours.filter(channel_id=0).values_list("at", flat=True))
        until = _first_unfolded()
        rows = [_row(hour) for hour in found if hour["hour"] not in recorded and hour["hour"] < until]
        Recorded.objects.bulk_create(rows, batch_size=A_BATCH, ignore_conflicts=True)
    return len(rows)


def _first_unfolded() -> datetime:
    """The hour of what will be recorded."""
    first = Flow.objects.order_by("pk").values_list("at", flat=True).first() or timezone.now()
    return first.replace(minute=0, second=0, microsecond=0)


def _row(hour: dict[str, Any]) -> Recorded:
    told = {name: value for name, value in hour.items() if name != "hour"}
    return Recorded(step=Step.HOUR, at=hour["hour"], source=Source.ROLLUP, **told)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
