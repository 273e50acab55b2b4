"""Attempts per hour in which they ended: of which claim of its job, and how it went."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import hour_of, reason, rows, total

SCHEMA = (
    "hour timestamp, channel_id bigint, consumer_id bigint, attempt int, reason string, attempts bigint,"
    " duration_ms bigint"
)
# Stands for itself and all that come after it.
LAST = 10


def roll_up(attempts: DataFrame) -> DataFrame:
    nth = F.least("attempt", F.lit(LAST)).alias("attempt")
    return attempts.groupBy(hour_of("finished_at"), "channel_id", "consumer_id", nth, reason()).agg(
        rows().alias("attempts"), total("duration_ms").alias("duration_ms")
    )
