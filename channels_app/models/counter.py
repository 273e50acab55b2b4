"""Counts that are read, not counted: what is kept, plus what has changed since it was last folded."""

from django.db import models


class CounterKind(models.IntegerChoices):
    """By partition, its number stands in the consumer's column; jobs of partition 0 are what the others leave."""

    MESSAGE = 1
    JOB = 2
    SCHEDULED = 3
    JOB_BY_PARTITION = 4
    DEAD_LETTER = 5


class Counted(models.Model):
    """How many, of what."""

    kind = models.SmallIntegerField(choices=CounterKind.choices)
    channel_id = models.BigIntegerField()
    consumer_id = models.BigIntegerField()
    status = models.SmallIntegerField()
    reason = models.CharField(max_length=16)
    count = models.BigIntegerField()

    class Meta:
        abstract = True


class Counter(Counted):
    """The folded part. Triggers write deltas, a sweep folds them; see migration 0003."""

    pk = models.CompositePrimaryKey("kind", "channel_id", "consumer_id", "status", "reason")

    class Meta:
        db_table = "counter"


class CounterDelta(Counted):
    class Meta:
        db_table = "counter_delta"
        indexes = [models.Index(fields=["kind", "channel_id"], name="counter_delta_by_channel")]
