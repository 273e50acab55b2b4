"""What the lake holds. The exporter (spark_analytics.lake) writes these rows; committing one makes a slice live."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import BigIntegerRangeField, IntegerRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Now


class LakeKind(models.IntegerChoices):
    """The tables of the lake, numbered as in spark_analytics.tables."""

    MESSAGE = 1
    JOB = 2
    SCHEDULED = 3
    ATTEMPT = 4
    LETTER_ACT = 5


# Both as ranges: without an extension, GiST knows no plain numbers.
KINDS = Func(F("kind"), F("kind"), Value("[]"), function="int4range", output_field=IntegerRangeField())
IDS = Func(F("first_id"), F("last_id"), Value("[]"), function="int8range", output_field=BigIntegerRangeField())


class LakeSlice(models.Model):
    """A range of ids of one table, as it is in the lake under `path`."""

    kind = models.SmallIntegerField(choices=LakeKind.choices)
    first_id = models.BigIntegerField()
    last_id = models.BigIntegerField()
    row_count = models.BigIntegerField()
    # A sum over all rows: neither their order nor their files matter.
    checksum = models.BigIntegerField()
    # The directory's name, under the table's and its roll-up's own.
    path = models.CharField(max_length=255)
    # What it was before: kept for a while, for whoever still reads it.
    previous_path = models.CharField(max_length=255, db_default="")
    # UTC; none if it has no rows.
    first_day = models.DateField(null=True)
    last_day = models.DateField(null=True)
    exported_at = models.DateTimeField(db_default=Now())
    # Rows of it may have left the database since.
    pruned_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "lake_slice"
        constraints = [
            models.CheckConstraint(condition=Q(first_id__lte=F("last_id")), name="lake_slice_ids"),
            ExclusionConstraint(
                name="lake_slice_apart",
                expressions=[(KINDS, RangeOperators.OVERLAPS), (IDS, RangeOperators.OVERLAPS)],
            ),
        ]

    def __str__(self) -> str:
        return self.path


class LakeWatermark(models.Model):
    """Up to which id a table's slices exist or are being made; an UPDATE of a row at or below it leaves a mark."""

    kind = models.SmallIntegerField(choices=LakeKind.choices, primary_key=True)
    until = models.BigIntegerField()

    class Meta:
        db_table = "lake_watermark"


class LakeMark(models.Model):
    """Rows of this block (id >> 14) changed after they were in the lake. Triggers add, the exporter takes away."""

    kind = models.SmallIntegerField(choices=LakeKind.choices)
    block = models.BigIntegerField()

    class Meta:
        db_table = "lake_mark"
        indexes = [models.Index(fields=["kind", "block"], name="lake_mark_block")]


class LakeOwner(models.Model):
    """One row, made by the first export: the lake's file `_owner` has the same id."""

    only = models.SmallIntegerField(primary_key=True, db_default=1)
    owner_id = models.CharField(max_length=32)

    class Meta:
        db_table = "lake_owner"
        constraints = [models.CheckConstraint(condition=Q(only=1), name="lake_owner_one")]
