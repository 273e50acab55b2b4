"""From the columns of a schedule to when it ticks."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scheduling_app.errors import InvalidCron, ScheduleUnreadable
from scheduling_app.models import RecurringSchedule
from scheduling_app.recurring.cron import read_cron_with_seconds
from scheduling_app.recurring.ticks import Spec


def make_spec(
    *, cron: str | None, interval_seconds: int | None, timezone: str, start_at: datetime, end_at: datetime | None
) -> Spec:
    """What was right where it was written may not be so here, with other data on time zones perhaps."""
    try:
        read = read_cron_with_seconds(cron) if cron else None
        return Spec(ZoneInfo(timezone), read, interval_seconds, start_at, end_at)
    except ZoneInfoNotFoundError as error:
        raise ScheduleUnreadable(f"This schedule cannot be read here: there is no time zone {timezone}.") from error
    except (InvalidCron, ValueError, OSError) as error:
        raise ScheduleUnreadable(f"This schedule cannot be read here: {error}") from error


def spec_of(row: RecurringSchedule) -> Spec:
    return make_spec(
        cron=row.cron,
        interval_seconds=row.interval_seconds,
        timezone=row.timezone,
        start_at=row.start_at,
        end_at=row.end_at,
    )
