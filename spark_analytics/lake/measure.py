"""What a slice amounts to: how many rows, the sum of their numbers, their days. Part by part, so that parts add up."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.lake.checksum import in_spark
from spark_analytics.manifest import Measured
from spark_analytics.tables import Table

SCHEMA = "slice_rows bigint, slice_sum bigint, slice_first date, slice_last date"


def amounts(table: Table) -> list[Column]:
    """Aggregates. The days are those that rows belong to, and those that they are rolled up in."""
    days = F.array("day", F.to_date(table.hour))
    return [
        F.count(F.lit(1)).alias("slice_rows"),
        F.sum(in_spark(table)).alias("slice_sum"),
        F.min(F.array_min(days)).alias("slice_first"),
        F.max(F.array_max(days)).alias("slice_last"),
    ]


def added_up(parts: DataFrame) -> Measured:
    """Of rows with the columns of SCHEMA."""
    none = F.lit(0)
    [found] = parts.agg(
        F.coalesce(F.sum("slice_rows"), none),
        F.coalesce(F.sum("slice_sum"), none),
        F.min("slice_first"),
        F.max("slice_last"),
    ).collect()
    return Measured(*found)
