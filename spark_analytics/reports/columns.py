"""Columns that several reports have."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.sketches import share_within, size_of


def total(amount: str) -> Column:
    return F.coalesce(F.sum(amount), F.lit(0)).alias(amount)


def total_where(condition: Column, amount: str) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col(amount))), F.lit(0))


def ratio(part: str | Column, whole: str | Column) -> Column:
    """A fraction; NULL of nothing."""
    return F.try_divide(part, whole)


def known(sketch: str) -> Column:
    """How many seconds a roll-up row is of. Lakes have rows from before there were counts in them."""
    return F.coalesce(F.element_at("within", -1), size_of(sketch))


def known_within(sketch: str, seconds: float, steps: Sequence[float]) -> Column:
    """How many of them are at most so many; `steps` are those that its roll-up counts. Of others each row's own sketch
    tells: merged, sketches would be exact for far fewer.
    """
    told = F.round(share_within(sketch, seconds) * known(sketch)).cast("bigint")
    counted = [F.col("within")[steps.index(seconds)]] if seconds in steps else []
    return F.coalesce(*counted, told, F.lit(0))


def hours_in(asked: Asked) -> Column:
    """How far into the range an hour is: by that the hours of two periods are matched."""
    since = F.unix_seconds("hour") - F.lit(int(asked.start.timestamp()))
    return (since / 3600).cast("int").alias("hours_in")


def ordered(report: DataFrame, *by: str | Column) -> DataFrame:
    """Reports are small: sorted in one place, which spares Spark a look at the values beforehand."""
    return report.coalesce(1).sortWithinPartitions(*by)
