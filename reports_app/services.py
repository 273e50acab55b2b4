"""Ask for a report, once or again; and remove those that are old. Each is in the log, with who asked."""

import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from channels_app.models import Channel
from reports_app import night as nights
from reports_app.bell import ring_report
from reports_app.errors import BadReport, ReportUnderWay
from reports_app.models import Report

log = structlog.get_logger(__name__)

LONGEST = timedelta(days=400)
NIGHT = "nightly"
# A broker that was down at that time makes it when it comes up, but not in the middle of the day.
NIGHT_LASTS = timedelta(hours=1)
# Removing files takes time; the next sweep goes on.
MOST_REMOVED = 100


def ask_for(
    *,
    start: datetime,
    end: datetime,
    channels: Sequence[str] = (),
    compare: bool = False,
    sla_seconds: float = 60.0,
    by: str,
    night: date | None = None,
) -> Report:
    """QUEUED now; a `reports` worker makes it."""
    _check(start, end, channels, sla_seconds)
    asked: dict[str, Any] = {"from": start.isoformat(), "to": end.isoformat(), "channels": list(channels)}
    asked |= {"compare": compare, "slaSeconds": sla_seconds}
    report = Report.objects.create(asked=asked, asked_by=by, night=night)
    report.refresh_from_db(fields=["created_at", "progress"])
    log.info("report.asked_for", report=report.public_id, by=by, asked=asked)
    transaction.on_commit(ring_report)
    return report


def ask_again(*, report: Report, by: str) -> None:
    if not Report.objects.filter(pk=report.pk).ask_again(by=by):
        raise ReportUnderWay("Only a report that failed can be asked for again.")
    log.info("report.asked_again", report=report.public_id, by=by)
    transaction.on_commit(ring_report)


def ask_nightly(now: datetime) -> Report | None:
    """Of the last whole day, compared with the one before: once a night, whoever sweeps."""
    begins = nights.begin(now)
    if begins is None or now >= begins + NIGHT_LASTS:
        return None
    if Report.objects.filter(night=begins.date()).exists():
        return None
    midnight = datetime.combine(begins.date(), time(), tzinfo=UTC)
    try:
        with transaction.atomic():
            return ask_for(
                start=midnight - timedelta(days=1), end=midnight, compare=True, by=NIGHT, night=begins.date()
            )
    except IntegrityError:
        # Another beat has asked in the meantime.
        return None


def remove_old() -> int:
    """The files first: after a crash in between, the row brings us back."""
    old = Report.objects.older_than(timedelta(days=settings.REPORT_RETENTION_DAYS)).order_by("pk")[:MOST_REMOVED]
    for report in old:
        shutil.rmtree(report.directory, ignore_errors=True)
        report.delete()
        log.info("report.removed", report=report.public_id)
    return len(old)


def _check(start: datetime, end: datetime, channels: Sequence[str], sla_seconds: float) -> None:
    if start >= end:
        raise BadReport("A report's end must come after its beginning.")
    if end - start > LONGEST:
        raise BadReport(f"A report covers {LONGEST.days} days at most.")
    if not 0 < sla_seconds <= 86_400:
        raise BadReport("In time is from more than 0 to 86400 seconds.")
    known = set(Channel.objects.filter(public_id__in=channels).values_list("public_id", flat=True))
    if unknown := sorted(set(channels) - known):
        raise BadReport(f"There is no channel {', '.join(unknown)}.")
