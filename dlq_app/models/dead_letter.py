"""A dead letter: a DEAD job as an operator sees it. Kept by a trigger: whatever ends a job, its letter is there.

It is open until somebody has resolved it. A job that was queued again and died again is the same letter, open again,
with a new id: letters are listed in the order in which they entered.
"""

from typing import Self

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.functions import Now

from channels_app.models import Channel, Consumer, DeliveryJob, Message
from channels_app.models.delivery_job import REASONS

OPEN = Q(resolution__isnull=True)


def only_words(text: str | Value) -> Func:
    """Without what stands between them: a part of a host's name, or of a path, is a word too."""
    between = (Value("[^[:alnum:]]+"), Value(" "), Value("g"))
    return Func(text, *between, function="regexp_replace", output_field=models.TextField())


class LetterStatus(models.IntegerChoices):
    """As counters have it."""

    OPEN = 1
    RESOLVED = 2
    # What has happened to letters of a channel, ever; these only rise.
    ENTERED = 11
    REQUEUED = 12
    DISCARDED = 13
    EDITED = 14


class Resolution(models.TextChoices):
    REQUEUED = "requeued"
    DISCARDED = "discarded"
    EDITED = "edited"


class Act(models.TextChoices):
    """What happened to a letter, in its history."""

    ENTERED = "entered"
    REQUEUED = "requeued"
    DISCARDED = "discarded"
    EDITED = "edited"


class DeadLetterQuerySet(models.QuerySet["DeadLetter"]):
    def open(self) -> Self:
        return self.filter(OPEN)


class DeadLetter(models.Model):
    """`error` and `fingerprint` are of the last attempt; letters with one cause have one fingerprint."""

    job = models.OneToOneField(DeliveryJob, on_delete=models.DO_NOTHING, db_constraint=False, related_name="letter")
    message = models.ForeignKey(Message, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    channel = models.ForeignKey(Channel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    consumer = models.ForeignKey(Consumer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    reason = models.CharField(max_length=16, choices=REASONS)
    error = models.TextField()
    fingerprint = models.BigIntegerField()
    words = models.GeneratedField(
        expression=SearchVector(only_words("error"), config="simple"), output_field=SearchVectorField(), db_persist=True
    )
    attempts = models.IntegerField()
    # How often it has entered: what is queued again and again in vain is not queued for ever.
    times = models.IntegerField(db_default=1)
    entered_at = models.DateTimeField(db_default=Now())
    resolution = models.CharField(max_length=16, null=True, choices=Resolution.choices)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=255, null=True)
    note = models.CharField(max_length=1000, db_default="")
    # Sent again with another content: the message that took its place.
    edited_message = models.ForeignKey(
        Message, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )

    objects = DeadLetterQuerySet.as_manager()

    class Meta:
        db_table = "dead_letter"
        verbose_name = "dead letter"
        permissions = [
            ("act_on_deadletter", "Can requeue, discard and edit dead letters"),
            ("clear_deadletter", "Can clear the dead letters of a consumer"),
        ]
        indexes = [
            models.Index(fields=["id"], condition=OPEN, name="letter_open"),
            models.Index(fields=["channel", "id"], condition=OPEN, name="letter_by_channel"),
            models.Index(fields=["consumer", "id"], condition=OPEN, name="letter_by_consumer"),
            models.Index(fields=["reason", "id"], condition=OPEN, name="letter_by_reason"),
            models.Index(fields=["fingerprint", "id"], condition=OPEN, name="letter_by_fingerprint"),
            models.Index(fields=["entered_at"], condition=OPEN, name="letter_by_time"),
            # For the sweep that removes the old ones.
            models.Index(fields=["channel", "id"], condition=Q(resolution__isnull=False), name="letter_resolved"),
            GinIndex(fields=["words"], condition=OPEN, name="letter_words"),
        ]
        constraints = [
            models.CheckConstraint(
                name="letter_resolved_has_a_time",
                condition=Q(resolution__isnull=True, resolved_at__isnull=True)
                | Q(resolution__isnull=False, resolved_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.job_id)


class DeadLetterAct(models.Model):
    """One line of a letter's history."""

    job = models.ForeignKey(DeliveryJob, on_delete=models.DO_NOTHING, db_constraint=False, related_name="letter_acts")
    act = models.CharField(max_length=16, choices=Act.choices)
    reason = models.CharField(max_length=16, null=True, choices=REASONS)
    attempt = models.IntegerField()
    by = models.CharField(max_length=255, db_default="")
    note = models.CharField(max_length=1000, db_default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "dead_letter_act"
