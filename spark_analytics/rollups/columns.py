"""Columns that several roll-ups have."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F


def hour_of(moment: str) -> Column:
    """In UTC, as the session is."""
    return F.date_trunc("hour", F.col(moment)).alias("hour")


def reason() -> Column:
    """Empty where nothing failed: what may be NULL does not group well with what may not."""
    return F.coalesce("reason", F.lit("")).alias("reason")


def rows() -> Column:
    return F.count(F.lit(1))


def rows_where(condition: Column) -> Column:
    return F.count(F.when(condition, F.lit(1)))


def counts_within(seconds: Column, steps: Sequence[float]) -> Column:
    """How many are at most each of these, and last all of them; NULLs are left out."""
    return F.array(*(rows_where(seconds <= step) for step in steps), F.count(seconds)).alias("within")


def total(amount: str) -> Column:
    return F.coalesce(F.sum(F.col(amount).cast("bigint")), F.lit(0))
