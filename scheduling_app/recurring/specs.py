"""From the columns of a schedule to when it ticks."""

from datetime import datetime
from zoneinfo import ZoneInfo

from scheduling_app.models import RecurringSchedule
from scheduling_app.recurring.cron import read_cron
from scheduling_app.recurring.ticks import Spec


def make_spec(
    *, cron: str | None, interval_seconds: int | None, timezone: str, start_at: datetime, end_at: datetime | None
) -> Spec:
    return Spec(ZoneInfo(timezone), read_cron(cron) if cron else None, interval_seconds, start_at, end_at)


def spec_of(row: RecurringSchedule) -> Spec:
    return make_spec(
        cron=row.cron,
        interval_seconds=row.interval_seconds,
        timezone=str(row.timezone),
        start_at=row.start_at,
        end_at=row.end_at,
    )
