"""Who sends."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total

NAME = "producers"
TITLE = "Producers"
ABOUT = "What each producer sent to each channel, in how many hours of the range, and in which hour last."
KEYS = ("producer", "channel")


def build(facts: Facts, asked: Asked) -> DataFrame:
    counted = facts.message.groupBy(*KEYS).agg(
        total("messages"),
        total("bytes"),
        F.count_distinct("hour").alias("active_hours"),
        F.max("hour").alias("last_hour"),
    )
    mean = ratio("bytes", "messages").alias("mean_bytes")
    figures = counted.select(*KEYS, "messages", "bytes", mean, "active_hours", "last_hour")
    return ordered(figures, F.desc("messages"), *KEYS)
