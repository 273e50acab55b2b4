"""A recurring schedule: at each of its ticks a message for later is made, due at once."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now, TruncSecond

from channels_app.models import Channel, Producer
from channels_app.models.message import Content
from channels_app.models.registry_object import RegistryQuerySet

MAX_INTERVAL_SECONDS = 366 * 24 * 3600
# With the tick's time behind it, it is a message id.
MAX_ID_LENGTH = 200
MAX_NOTE_LENGTH = 255


class Missed(models.TextChoices):
    """What becomes of ticks that nobody was there for: the broker was down, or the schedule paused."""

    SKIP = "skip", "none of them"
    ONE = "one", "the last of them"
    ALL = "all", "each of them"


class Overlap(models.TextChoices):
    """What becomes of a tick while the message of the one before still waits, or has open jobs."""

    ALLOW = "allow", "it is made"
    SKIP = "skip", "it is skipped"


class RecurringQuerySet(RegistryQuerySet):
    """A pause and the ticks are the engine's: they never move `changed_at`."""

    def pause(self, *, by: str, note: str) -> int:
        return self.live().filter(paused_at=None).update(paused_at=Now(), paused_by=by, paused_note=note)

    def resume(self, **moved: Any) -> int:
        """From here on; what was missed is the step's to judge, unless `moved` says where to go on."""
        paused = self.live().filter(paused_at__isnull=False)
        return paused.update(paused_at=None, paused_by="", paused_note="", **moved)

    def of_state(self, state: str) -> Self:
        return self.filter(_STATES[state])


RecurringManager = models.Manager.from_queryset(RecurringQuerySet)

_LIVE = Q(deleted_at=None)
_STATES = {
    "active": _LIVE & Q(paused_at=None, next_at__isnull=False),
    "paused": _LIVE & Q(paused_at__isnull=False),
    "ended": _LIVE & Q(paused_at=None, next_at=None),
    "deleted": ~_LIVE,
}
STATES = tuple(_STATES)


class RecurringSchedule(Content, models.Model):
    channel = models.ForeignKey(Channel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    producer = models.ForeignKey(Producer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    public_id = models.CharField("id", max_length=MAX_ID_LENGTH, db_collation="C")
    cron = models.CharField(max_length=255, null=True)
    interval_seconds = models.IntegerField(null=True)
    # A text: a name that this machine does not know must not keep anybody from reading the row.
    timezone = models.CharField(max_length=63, default="UTC")
    # A template: see recurring/template.py. (Not a job's: that is data.)
    payload = models.BinaryField()
    content_type = models.CharField(max_length=255, default="application/octet-stream")
    headers = models.JSONField(default=dict)
    priority = models.IntegerField(default=0)
    start_at = models.DateTimeField()
    end_at = models.DateTimeField(null=True)
    missed = models.CharField(max_length=8, choices=Missed.choices, default=Missed.ONE)
    overlap = models.CharField(max_length=8, choices=Overlap.choices, default=Overlap.ALLOW)
    # It ends after so many ticks.
    max_ticks = models.BigIntegerField(null=True)
    # Of a Dapr job: how it was asked for.
    job = models.JSONField(null=True)
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=255, db_default="")
    paused_note = models.CharField(max_length=MAX_NOTE_LENGTH, db_default="")
    # The next tick that is not made yet; while it is paused, the first that it misses. None: there is no more.
    next_at = models.DateTimeField(null=True)
    # The last tick of which a message was made, and how many there were; how many were not made.
    last_tick_at = models.DateTimeField(null=True)
    ticks = models.BigIntegerField(db_default=0)
    skipped = models.BigIntegerField(db_default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=TruncSecond(Now()), editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = RecurringManager()

    class Meta:
        db_table = "recurring_schedule"
        indexes = [
            # What is due, in the order in which it is.
            models.Index(fields=["next_at", "id"], condition=Q(paused_at=None, deleted_at=None), name="recurring_due"),
            models.Index(fields=["channel", "id"], condition=Q(deleted_at=None), name="recurring_by_channel"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "public_id"], condition=Q(deleted_at=None), name="recurring_public_id_is_unique"
            ),
            models.CheckConstraint(
                name="recurring_cron_or_interval", condition=Q(cron=None) ^ Q(interval_seconds=None)
            ),
            models.CheckConstraint(name="recurring_interval_is_positive", condition=Q(interval_seconds__gte=1)),
            models.CheckConstraint(name="recurring_ticks_at_least_once", condition=Q(max_ticks__gte=1)),
            models.CheckConstraint(name="recurring_ends_after_start", condition=Q(end_at__gte=F("start_at"))),
            models.CheckConstraint(name="recurring_missed_is_known", condition=Q(missed__in=Missed.values)),
            models.CheckConstraint(name="recurring_overlap_is_known", condition=Q(overlap__in=Overlap.values)),
            models.CheckConstraint(name="recurring_gone_never_ticks", condition=Q(deleted_at=None) | Q(next_at=None)),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def etag(self) -> str:
        return f'"{self.pk}-{int(self.changed_at.timestamp())}"'

    @property
    def state(self) -> str:
        if self.deleted_at:
            return "deleted"
        if self.paused_at:
            return "paused"
        return "active" if self.next_at else "ended"

    @property
    def is_template(self) -> bool:
        return self.job is None

    @property
    def coming_at(self) -> datetime | None:
        """The next tick, if nothing changes."""
        return None if self.paused_at else self.next_at
