"""A long act on many rows. RUNNING, then DONE; or STOPPING and STOPPED, or FAILED: from both it can be resumed."""

from typing import Any, Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from broker_project.lib.ids import new_id
from channels_app.models.channel import Channel

MAX_ERROR = 1_000


class OperationStatus(models.TextChoices):
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    DONE = "DONE"
    FAILED = "FAILED"


OPEN = (OperationStatus.RUNNING, OperationStatus.STOPPING)
ENDED = (OperationStatus.STOPPED, OperationStatus.DONE, OperationStatus.FAILED)
RESUMABLE = (OperationStatus.STOPPING, OperationStatus.STOPPED, OperationStatus.FAILED)


class OperationQuerySet(models.QuerySet["Operation"]):
    """Every move is one statement that asks for the status before it: of two that race, one wins."""

    def open(self) -> Self:
        return self.filter(status__in=OPEN)

    def running(self) -> Self:
        return self.filter(status=OperationStatus.RUNNING)

    def fresh(self) -> Self:
        return self.running().filter(started_at__isnull=True)

    def begin(self, *, total: int | None) -> int:
        return self.fresh().update(started_at=Now(), total=total)

    def advance(self, *, cursor: int, done: int, failed: int) -> int:
        return self.running().update(cursor=cursor, done=F("done") + done, failed=F("failed") + failed)

    def finish(self) -> int:
        return self.running().update(status=OperationStatus.DONE, finished_at=Now())

    def ask_to_stop(self, *, by: str) -> int:
        """Again changes nothing but who asked; the step under way is done to its end."""
        return self.open().update(status=OperationStatus.STOPPING, stopped_by=by)

    def stop(self) -> int:
        return self.filter(status=OperationStatus.STOPPING).update(status=OperationStatus.STOPPED, finished_at=Now())

    def fail(self, error: str) -> int:
        values: dict[str, Any] = {"status": OperationStatus.FAILED, "finished_at": Now()}
        return self.open().update(**values, started_at=Coalesce("started_at", Now()), last_error=error[:MAX_ERROR])

    def resume(self, *, by: str) -> int:
        """From where it was: the cursor stays."""
        resumable = self.filter(status__in=RESUMABLE)
        return resumable.update(status=OperationStatus.RUNNING, finished_at=None, last_error="", resumed_by=by)


class Operation(models.Model):
    public_id = models.CharField(max_length=32, unique=True, default=new_id, db_collation="C")
    kind = models.CharField(max_length=64)
    channel = models.ForeignKey(Channel, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    parameters = models.JSONField(default=dict)
    status = models.CharField(max_length=8, choices=OperationStatus.choices, default=OperationStatus.RUNNING)
    # As counted when it began; None: that would have taken too long.
    total = models.BigIntegerField(null=True)
    done = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    # The last row that was handled, and the last that there was when it was asked for: it ends, whatever comes in.
    cursor = models.BigIntegerField(db_default=0)
    until = models.BigIntegerField(null=True)
    asked_by = models.CharField(max_length=255)
    stopped_by = models.CharField(max_length=255, default="")
    resumed_by = models.CharField(max_length=255, default="")
    last_error = models.CharField(max_length=MAX_ERROR, default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = OperationQuerySet.as_manager()

    class Meta:
        db_table = "operation"
        # The sweep's question; empty when nothing is under way.
        indexes = [models.Index(fields=["id"], condition=Q(status__in=OPEN), name="operation_open")]
        constraints = [
            models.CheckConstraint(
                name="operation_ended_has_a_time",
                condition=Q(status__in=OPEN, finished_at__isnull=True) | Q(status__in=ENDED, finished_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def progress(self) -> float | None:
        """From 0 to 1. What was counted is an estimate: rows come and go meanwhile."""
        if self.status == OperationStatus.DONE:
            return 1.0
        return min(1.0, (self.done + self.failed) / self.total) if self.total else None
