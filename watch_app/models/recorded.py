"""Numbers over time. Triggers append flows, a sweep folds them into steps of ten seconds up to an hour."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Measure(models.IntegerChoices):
    """What flows. Of those that were delivered and scheduled, the place says how long it took; see histogram.py."""

    ACCEPTED = 1
    DELIVERED = 2
    FAILED = 3
    DEAD = 4
    SCHEDULED = 5
    # Failed too, and its job is queued again.
    RETRIED = 6


class Step(models.IntegerChoices):
    """In seconds."""

    TEN_SECONDS = 10
    MINUTE = 60
    TEN_MINUTES = 600
    HOUR = 3600


class Source(models.IntegerChoices):
    """A row is what flowed here; or, of hours before that was recorded, what the lake's roll-ups say."""

    RECORDED = 1
    ROLLUP = 2


class Flow(models.Model):
    """What one statement moved, of one consumer; or of a channel, with consumer 0."""

    at = models.DateTimeField(db_default=Now())
    channel_id = models.BigIntegerField()
    consumer_id = models.BigIntegerField()
    measure = models.SmallIntegerField(choices=Measure.choices)
    place = models.SmallIntegerField()
    count = models.BigIntegerField()

    class Meta:
        db_table = "flow"


class Recorded(models.Model):
    """A step of a consumer, of a channel (consumer 0), or of all (channel 0).

    That of all is there for every step in which the sweep ran. Another's is missing where it would be all zeros.
    """

    pk = models.CompositePrimaryKey("channel_id", "consumer_id", "step", "at")
    channel_id = models.BigIntegerField()
    consumer_id = models.BigIntegerField()
    step = models.SmallIntegerField(choices=Step.choices)
    at = models.DateTimeField()
    source = models.SmallIntegerField(choices=Source.choices, db_default=Source.RECORDED)
    accepted = models.BigIntegerField(db_default=0)
    delivered = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    dead = models.BigIntegerField(db_default=0)
    scheduled = models.BigIntegerField(db_default=0)
    retried = models.BigIntegerField(db_default=0)
    # Counts by place, up to the last that is not zero.
    latency = ArrayField(models.IntegerField(), db_default=[])
    lag = ArrayField(models.IntegerField(), db_default=[])
    # When the sweep last ran in this step; NULL where it did not.
    queued = models.BigIntegerField(null=True)
    in_flight = models.BigIntegerField(null=True)
    letters = models.BigIntegerField(null=True)

    class Meta:
        db_table = "watch_recorded"
        # What is old enough to go.
        indexes = [models.Index(fields=["step", "at"], name="watch_recorded_by_age")]
        constraints = [models.CheckConstraint(name="watch_recorded_step_is_known", condition=Q(step__in=Step.values))]
