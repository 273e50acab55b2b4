"""Columns that several reports have."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked


def total(amount: str) -> Column:
    return F.coalesce(F.sum(amount), F.lit(0)).alias(amount)


def total_where(condition: Column, amount: str) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col(amount))), F.lit(0))


def ratio(part: str | Column, whole: str | Column) -> Column:
    """A fraction; NULL of nothing."""
    return F.try_divide(part, whole)


def hours_in(asked: Asked) -> Column:
    """How far into the range an hour is: by that the hours of two periods are matched."""
    since = F.unix_seconds("hour") - F.lit(int(asked.start.timestamp()))
    return (since / 3600).cast("int").alias("hours_in")


def ordered(report: DataFrame, *by: str | Column) -> DataFrame:
    """Reports are small: sorted in one place, which spares Spark a look at the values beforehand."""
    return report.repartition(1).sortWithinPartitions(*by)
