"""What happened to dead letters, per hour in which it did."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import hour_of, reason, rows

SCHEMA = "hour timestamp, channel_id bigint, consumer_id bigint, act string, reason string, acts bigint"


def keys() -> list[Column]:
    return [hour_of("at"), F.col("channel_id"), F.col("consumer_id"), F.col("act"), reason()]


def figures() -> list[Column]:
    return [rows().alias("acts")]
