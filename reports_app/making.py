"""Makes a report, in a `reports` worker: the row is told how far it is, and how it ended."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from channels_app.models import Progress
from reports_app import night, spark
from reports_app.models import Report, ReportQuerySet
from reports_app.night import SIGN_SECONDS, try_to

log = structlog.get_logger(__name__)

WORKER = "reports"


class Teller:
    """Keeps the row alive and up to date from a thread of its own: Spark may be silent for long."""

    def __init__(self, rows: ReportQuerySet) -> None:
        self._rows = rows
        self._share, self._stage = 0.0, "starting Spark"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="report-progress", daemon=True)

    def hear(self, share: float, stage: str) -> None:
        self._share, self._stage = share, stage

    def hear_half(self, half: int) -> spark.Hear:
        """The first or the second of a run that is made of two."""
        return lambda share, stage: self.hear((half + share) / 2, stage)

    @contextmanager
    def telling(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _work(self) -> None:
        try:
            while not self._ended.wait(1.0):
                try_to(lambda: self._rows.advance(share=self._share, stage=self._stage))
        finally:
            connection.close()


def make(report: Report) -> bool:
    """False if it was another's already, or another is being made."""
    if not Report.objects.filter(pk=report.pk).begin():
        return False
    rows = _this_run(report)
    teller = Teller(rows)
    try:
        # What a run that died has left there.
        shutil.rmtree(report.directory, ignore_errors=True)
        with teller.telling():
            _run(report, teller)
        if rows.finish():
            log.info("report.done", report=report.public_id)
        else:
            log.warning("report.lost", report=report.public_id)
    except Exception as error:  # whatever it is, somebody must see it
        log.exception("report.failed", report=report.public_id)
        rows.fail(_told(error))
    return True


def _this_run(report: Report) -> ReportQuerySet:
    """One that was given up as lost, and begun again by somebody else, is not ours any more."""
    report.refresh_from_db(fields=["started_at"])
    return Report.objects.filter(pk=report.pk, started_at=report.started_at)


def _run(report: Report, teller: Teller) -> None:
    """That of a night begins with the export."""
    hear: spark.Hear = teller.hear
    if report.night:
        night.export(teller.hear_half(0))
        hear = teller.hear_half(1)
    spark.make(report.asked, report.directory, hear)


def _told(error: Exception) -> str:
    """Java tells its whole stack: the first line is what went wrong."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0]


def has_worker() -> bool:
    age = timedelta(seconds=settings.PROGRESS_MAX_AGE_SECONDS)
    return Progress.objects.filter(name=WORKER, at__gt=Now() - age).exists()


def keep_showing() -> None:
    """Without a task: nobody would take those from the queue where no worker runs."""
    threading.Thread(target=_show, name="reports-alive", daemon=True).start()


def _show() -> None:
    while True:
        try_to(lambda: Progress.objects.mark(WORKER))
        time.sleep(SIGN_SECONDS)
