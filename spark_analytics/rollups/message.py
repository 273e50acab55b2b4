"""Messages per hour in which they were received."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import hour_of, rows, total

SCHEMA = "hour timestamp, channel_id bigint, producer_id bigint, messages bigint, bytes bigint"


def keys() -> list[Column]:
    return [hour_of("received_at"), F.col("channel_id"), F.col("producer_id")]


def figures() -> list[Column]:
    return [rows().alias("messages"), total("bytes").alias("bytes")]
