"""What happened to dead letters, per hour in which it did."""

from pyspark.sql import DataFrame

from spark_analytics.rollups.columns import hour_of, reason, rows

SCHEMA = "hour timestamp, channel_id bigint, consumer_id bigint, act string, reason string, acts bigint"


def roll_up(acts: DataFrame) -> DataFrame:
    return acts.groupBy(hour_of("at"), "channel_id", "consumer_id", "act", reason()).agg(rows().alias("acts"))
