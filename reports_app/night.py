"""The night: when it begins, and its export. The nightly report begins with it; if it fails it is tried again, as
pruning waits for it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from channels_app.models import Progress
from reports_app import spark

log = structlog.get_logger(__name__)

# The last sign of an export that was under way, and when the last one was done.
TRIED, EXPORTED = "lake-export-tried", "lake-exported"
TRY_AGAIN = timedelta(minutes=5)
# What does not work by then is left to the next night, or to whoever reads the log.
EXPORT_LASTS = timedelta(hours=6)
SIGN_SECONDS = 5.0


def begin(now: datetime) -> datetime | None:
    """Of the last night that has begun; none where no report is made at night."""
    if not settings.REPORT_NIGHTLY_AT:
        return None
    begins = datetime.combine(now.date(), time.fromisoformat(settings.REPORT_NIGHTLY_AT), tzinfo=UTC)
    return begins if begins <= now else begins - timedelta(days=1)


def export_is_due(now: datetime) -> bool:
    """Again: the first try of a night is its report's."""
    begins = begin(now)
    if begins is None or now >= begins + EXPORT_LASTS:
        return False
    marks = dict(Progress.objects.filter(name__in=(TRIED, EXPORTED), at__gte=begins).values_list("name", "at"))
    return EXPORTED not in marks and TRIED in marks and marks[TRIED] < now - TRY_AGAIN


def export(hear: spark.Hear) -> bool:
    """Whether it is done. If not, whatever it was is in the log, and the report goes on without it."""
    try:
        with _signs():
            spark.bring_in(hear)
        Progress.objects.mark(EXPORTED)
    except spark.NotBroughtIn as reason:
        log.warning("lake.export_failed", error=str(reason), again_after_seconds=TRY_AGAIN.total_seconds())
        return False
    except Exception:
        log.exception("lake.export_failed", again_after_seconds=TRY_AGAIN.total_seconds())
        return False
    log.info("lake.exported")
    return True


@contextmanager
def _signs() -> Iterator[None]:
    """From a thread of its own, as an export may take hours: nobody is to take it for one that died."""
    Progress.objects.mark(TRIED)
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(ended,), name="export-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(ended: threading.Event) -> None:
    try:
        while not ended.wait(SIGN_SECONDS):
            try_to(lambda: Progress.objects.mark(TRIED))
    finally:
        connection.close()


def try_to(write: Callable[[], object]) -> None:
    try:
        write()
    except DatabaseError as error:
        # Away for a moment. The next sign opens a new connection.
        log.warning("report.cannot_tell", error=type(error).__name__)
        connection.close()
