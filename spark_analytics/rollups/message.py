"""Messages per hour in which they were received."""

from pyspark.sql import DataFrame

from spark_analytics.rollups.columns import hour_of, rows, total

SCHEMA = "hour timestamp, channel_id bigint, producer_id bigint, messages bigint, bytes bigint"


def roll_up(messages: DataFrame) -> DataFrame:
    return messages.groupBy(hour_of("received_at"), "channel_id", "producer_id").agg(
        rows().alias("messages"), total("bytes").alias("bytes")
    )
