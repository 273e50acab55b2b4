"""Attempts per hour in which they ended: of which claim of its job, and how it went."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import hour_of, reason, rows, total

SCHEMA = (
    "hour timestamp, channel_id bigint, consumer_id bigint, attempt int, reason string, attempts bigint,"
    " duration_ms bigint"
)
# Stands for itself and all that come after it.
LAST = 10


def keys() -> list[Column]:
    nth = F.least("attempt", F.lit(LAST)).alias("attempt")
    return [hour_of("finished_at"), F.col("channel_id"), F.col("consumer_id"), nth, reason()]


def figures() -> list[Column]:
    return [rows().alias("attempts"), total("duration_ms").alias("duration_ms")]
