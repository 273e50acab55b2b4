"""A job: one message for one consumer. QUEUED -> INFLIGHT -> DELIVERED, or back to QUEUED for a retry, or DEAD.

Two numbers are kept apart. `attempt` is the fence: it rises with every claim and is never reset, and a move
that names an older one changes nothing. `failures` is the budget: it counts only what really failed.
"""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer
from channels_app.models.message import Message
from channels_app.reasons import Reason


class JobStatus(models.IntegerChoices):
    QUEUED = 1001
    INFLIGHT = 1002
    DELIVERED = 1003
    DEAD = 1004


REASONS = [(reason.value, reason.value) for reason in Reason]


class DeliveryJobQuerySet(models.QuerySet["DeliveryJob"]):
    def open(self) -> Self:
        return self.filter(status__in=(JobStatus.QUEUED, JobStatus.INFLIGHT))

    def expire_open(self) -> int:
        """None of them is sent any more. Whoever calls this for many locks them by id first."""
        return self.open().update(
            status=JobStatus.DEAD,
            reason=Reason.EXPIRED,
            next_attempt_at=None,
            lease_until=None,
            status_changed_at=Now(),
        )


class DeliveryJob(models.Model):
    """Made in bulk by fan-out; see `delivery/` for the statements that move it."""

    message = models.ForeignKey(
        Message, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="jobs"
    )
    channel = models.ForeignKey(Channel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    consumer = models.ForeignKey(Consumer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    priority = models.IntegerField()
    partition = models.SmallIntegerField(db_default=0)
    status = models.SmallIntegerField(choices=JobStatus.choices, db_default=JobStatus.QUEUED)
    attempt = models.IntegerField(db_default=0)
    failures = models.IntegerField(db_default=0)
    losses = models.IntegerField(db_default=0)
    next_attempt_at = models.DateTimeField(null=True)
    # Until then it is its holder's: a worker that sends it, or a consumer that has it and has not acknowledged.
    lease_until = models.DateTimeField(null=True)
    # When the consumer got it, and said that it began; of the attempt under way, or of the last. With a worker: NULL.
    received_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    device_id = models.CharField(max_length=255, null=True)
    # The device's own clock, kept beside ours.
    device_started_at = models.DateTimeField(null=True)
    device_completed_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=16, null=True, choices=REASONS)
    created_at = models.DateTimeField(db_default=Now())
    # Not delivered after this, whatever holds it up: DEAD, expired.
    expires_at = models.DateTimeField(db_default=Now() + timedelta(days=1))
    status_changed_at = models.DateTimeField(db_default=Now())
    # True: `expires_at` is its message's own, not only its channel's. Else NULL, which costs no byte.
    has_ttl = models.BooleanField(null=True)

    objects = DeliveryJobQuerySet.as_manager()

    class Meta:
        db_table = "delivery_job"
        indexes = [
            # Ready: priority first, then the oldest.
            models.Index(
                "consumer",
                F("priority").desc(),
                "id",
                condition=Q(status=1001, next_attempt_at__isnull=True),
                name="job_ready",
            ),
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(status=1001, next_attempt_at__isnull=False),
                name="job_waiting",
            ),
            # The same for one consumer.
            models.Index(
                fields=["consumer", "next_attempt_at", "id"],
                condition=Q(status=1001, next_attempt_at__isnull=False),
                name="job_waiting_of",
            ),
            models.Index(fields=["consumer", "lease_until"], condition=Q(status=1002), name="job_in_flight"),
            models.Index(fields=["message"], name="job_by_message"),
            # Those that may end before older ones do; few channels have any.
            models.Index(fields=["expires_at"], condition=Q(status=1001, has_ttl=True), name="job_with_ttl"),
        ]
        constraints = [
            # What was polled by index is held without a lease.
            models.CheckConstraint(
                name="job_held_while_in_flight",
                condition=~Q(status=1002) | Q(lease_until__isnull=False) | Q(received_at__isnull=False),
            ),
            models.CheckConstraint(name="job_dead_has_a_reason", condition=~Q(status=1004) | Q(reason__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def status_name(self) -> str:
        return JobStatus(self.status).name

    @property
    def is_final(self) -> bool:
        return self.status in (JobStatus.DELIVERED, JobStatus.DEAD)

    @property
    def completed_at(self) -> datetime | None:
        return self.status_changed_at if self.is_final else None


class DeliveryAttempt(models.Model):
    """One try of a job, kept for good."""

    job = models.ForeignKey(DeliveryJob, on_delete=models.DO_NOTHING, db_constraint=False, related_name="attempts")
    attempt = models.IntegerField()
    status_code = models.SmallIntegerField(null=True)
    reason = models.CharField(max_length=16, null=True, choices=REASONS)
    error = models.TextField(db_default="")
    answer = models.TextField(db_default="")
    duration_ms = models.IntegerField()
    device_id = models.CharField(max_length=255, null=True)
    finished_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "delivery_attempt"

    @property
    def ok(self) -> bool:
        return self.reason is None
