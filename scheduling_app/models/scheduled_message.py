"""A message for later. SCHEDULED, then DISPATCHED (it is a message now) or CANCELLED; or SET_ASIDE, with a reason."""

from datetime import UTC, datetime
from typing import Any, Self

from django.db import models
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Least, Now

from channels_app.models import Channel, Producer
from channels_app.models.message import Content


class ScheduledStatus(models.IntegerChoices):
    SCHEDULED = 100
    DISPATCHED = 101
    CANCELLED = 102
    SET_ASIDE = 103


# No row may name a time that cannot be read back.
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


def due_for(scheduled_for: Any) -> Any:
    """When a row with this new time is due: it keeps what it was spread by."""
    spread = ExpressionWrapper(F("due_at") - F("scheduled_for"), DurationField())
    return Least(ExpressionWrapper(scheduled_for + spread, DateTimeField()), Value(LAST_MOMENT))


class ScheduledMessageQuerySet(models.QuerySet["ScheduledMessage"]):
    """Every move is one statement that asks for SCHEDULED: it meets the dispatch on the row, and one of them wins."""

    def waiting(self) -> Self:
        return self.filter(status=ScheduledStatus.SCHEDULED)

    def cancel(self, *, reason: str | None = None) -> int:
        return self.waiting().update(status=ScheduledStatus.CANCELLED, reason=reason, status_changed_at=Now())

    def expunge(self) -> int:
        """Whatever has become of it: its payload goes for good."""
        return self.update(payload=b"")

    def change(self, **values: Any) -> int:
        """Content, and `scheduled_for`."""
        if "scheduled_for" in values:
            values["due_at"] = due_for(Value(values["scheduled_for"], DateTimeField()))
        return self.waiting().update(**values)

    def reschedule(self, scheduled_for: Any, *, least: datetime) -> int:
        """To a time, or by a shift of the row's own; those for which that is too soon, or beyond all time, stay."""
        to = ExpressionWrapper(scheduled_for, DateTimeField())
        return (
            self.waiting()
            .alias(to=to)
            .filter(to__range=(least, LAST_MOMENT))
            .update(scheduled_for=to, due_at=due_for(to))
        )

    def make_due(self) -> int:
        """To be dispatched at once. What was asked for is kept, unless that is later; what is late keeps its place."""
        return self.waiting().update(scheduled_for=Least("scheduled_for", Now()), due_at=Least("due_at", Now()))


class ScheduledMessage(Content, models.Model):
    """Written in bulk by the door, moved in bulk by `dispatch.py`; nothing is claimed ahead of its time."""

    channel = models.ForeignKey(Channel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    producer = models.ForeignKey(Producer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message_id = models.CharField(max_length=255, db_collation="C")
    payload = models.BinaryField()
    content_type = models.CharField(max_length=255)
    priority = models.IntegerField(default=0)
    partition = models.SmallIntegerField(db_default=0)
    headers = models.JSONField(default=dict)
    status = models.SmallIntegerField(choices=ScheduledStatus.choices, db_default=ScheduledStatus.SCHEDULED)
    reason = models.CharField(max_length=16, null=True)
    # What was asked for, and when it goes: later by as much as the channel spreads.
    scheduled_for = models.DateTimeField()
    due_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())
    dispatched_at = models.DateTimeField(null=True)
    status_changed_at = models.DateTimeField(db_default=Now())
    # How long its jobs may wait, counted from its dispatch; none: as long as the channel says.
    ttl_seconds = models.IntegerField(null=True)
    # What Dapr's door was told of it; of those that came by another door nothing.
    dapr = models.JSONField(null=True)
    # Of a Dapr job: its name, as a channel's id writes it, and how it was asked for.
    job_name = models.CharField(max_length=255, null=True, db_collation="C")
    job = models.JSONField(null=True)

    objects = ScheduledMessageQuerySet.as_manager()

    class Meta:
        db_table = "scheduled_message"
        indexes = [
            # What is due, partition by partition, in the order in which it goes.
            models.Index(
                fields=["channel", "partition", "due_at", "id"], condition=Q(status=100), name="scheduled_due"
            ),
            # The same for all channels together: staff's lists, and how much is overdue. It asks for more than the
            # dispatch does: where one channel has nearly all rows, the planner would take it for another's lane too.
            models.Index(
                fields=["due_at", "id"],
                condition=Q(status=100, dispatched_at__isnull=True),
                name="scheduled_due_all",
            ),
            # Empty when all is well.
            models.Index(fields=["id"], condition=Q(status=103), name="scheduled_set_aside"),
            # The lists, of all and of one status.
            models.Index(fields=["channel", "id"], name="scheduled_by_channel"),
            models.Index(fields=["channel", "status", "id"], name="scheduled_by_status"),
            # What an application has delayed, soonest first.
            models.Index(
                KeyTextTransform("listing", "dapr"),
                "due_at",
                "id",
                condition=Q(status=100, dapr__isnull=False),
                name="scheduled_listing",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["channel", "message_id"], name="scheduled_message_id_is_unique"),
            # A name is free again when its job has gone.
            models.UniqueConstraint(
                fields=["channel", "job_name"],
                condition=Q(status=100, job_name__isnull=False),
                name="scheduled_job_name_is_unique",
            ),
            models.CheckConstraint(name="scheduled_never_early", condition=Q(due_at__gte=models.F("scheduled_for"))),
        ]

    def __str__(self) -> str:
        return self.message_id

    @property
    def status_name(self) -> str:
        return ScheduledStatus(self.status).name
