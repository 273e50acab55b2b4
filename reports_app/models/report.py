"""A run of all reports. QUEUED, then RUNNING, then DONE or FAILED; one that failed can be asked for again."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Self

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from broker_project.lib.ids import new_id

MAX_ERROR = 1_000
# The worker gives a sign every few seconds; without one for so long it is gone.
LOST_AFTER = timedelta(seconds=60)
# In a title.
MOST_NAMED = 3
LOST = "The worker that made it is gone. Ask for it again."


class ReportStatus(models.TextChoices):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


OPEN = (ReportStatus.QUEUED, ReportStatus.RUNNING)
ENDED = (ReportStatus.DONE, ReportStatus.FAILED)


class ReportQuerySet(models.QuerySet["Report"]):
    """Every move is one statement that asks for the status before it: of two that race, one wins."""

    def queued(self) -> Self:
        return self.filter(status=ReportStatus.QUEUED)

    def running(self) -> Self:
        return self.filter(status=ReportStatus.RUNNING)

    def begin(self) -> bool:
        """Whether it is ours: a constraint lets one run at a time, and who comes second leaves it queued."""
        try:
            with transaction.atomic():
                moves = {"status": ReportStatus.RUNNING, "started_at": Now(), "seen_at": Now()}
                return bool(self.queued().update(**moves))
        except IntegrityError:
            return False

    def advance(self, *, share: float, stage: str) -> int:
        return self.running().update(progress=share, stage=stage[:200], seen_at=Now())

    def finish(self) -> int:
        return self.running().update(status=ReportStatus.DONE, progress=1.0, stage="", finished_at=Now())

    def fail(self, error: str) -> int:
        told = error.replace("\0", "")[:MAX_ERROR]
        return self.running().update(status=ReportStatus.FAILED, error=told, stage="", finished_at=Now())

    def fail_lost(self) -> int:
        return self.filter(seen_at__lt=Now() - LOST_AFTER).fail(LOST)

    def ask_again(self, *, by: str) -> int:
        failed = self.filter(status=ReportStatus.FAILED)
        return failed.update(
            status=ReportStatus.QUEUED, asked_by=by, error="", progress=0.0, started_at=None, finished_at=None
        )

    def older_than(self, age: timedelta) -> Self:
        return self.filter(status__in=ENDED, finished_at__lt=Now() - age)


class Report(models.Model):
    public_id = models.CharField(max_length=32, unique=True, default=new_id, db_collation="C")
    # from, to, channels, compare, slaSeconds
    asked = models.JSONField(default=dict)
    status = models.CharField(max_length=8, choices=ReportStatus.choices, default=ReportStatus.QUEUED)
    # From 0 to 1, and what is being done.
    progress = models.FloatField(db_default=0.0)
    stage = models.CharField(max_length=200, default="")
    error = models.CharField(max_length=MAX_ERROR, default="")
    asked_by = models.CharField(max_length=255)
    # The night that it is of, if nobody asked for it.
    night = models.DateField(null=True, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    # The last sign of whoever makes it.
    seen_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ReportQuerySet.as_manager()

    class Meta:
        db_table = "report"
        # The sweep's question; next to empty.
        indexes = [models.Index(fields=["id"], condition=Q(status__in=OPEN), name="report_open")]
        constraints = [
            models.UniqueConstraint(
                fields=["status"], condition=Q(status=ReportStatus.RUNNING), name="report_one_at_a_time"
            ),
            models.CheckConstraint(
                name="report_ended_has_a_time",
                condition=Q(status__in=OPEN, finished_at__isnull=True) | Q(status__in=ENDED, finished_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        channels: list[str] = self.asked.get("channels", [])
        more = f" and {len(channels) - MOST_NAMED} more" if len(channels) > MOST_NAMED else ""
        return f"{self.title}: {', '.join(channels[:MOST_NAMED])}{more}" if channels else self.title

    @property
    def title(self) -> str:
        if self.night:
            # Made in the night after it.
            return f"Nightly report of {self.night - timedelta(days=1)}"
        return f"Report of {self.period}" if self.asked else "Report"

    @property
    def period(self) -> str:
        """In UTC, and with the time of day only where it is not whole days."""
        start, end = (datetime.fromisoformat(self.asked[name]).astimezone(UTC) for name in ("from", "to"))
        shown = "%Y-%m-%d" if start.time() == end.time() == time() else "%Y-%m-%d %H:%M"
        return f"{start:{shown}} to {end:{shown}}"

    @property
    def directory(self) -> Path:
        """Where its page and its files are."""
        return settings.REPORTS_DIR / self.public_id
