"""How much came in."""

from pyspark.sql import DataFrame

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import hours_in, ordered, total

NAME = "throughput"
TITLE = "Throughput"
ABOUT = "Messages and bytes that each channel received, hour by hour."
KEYS = ("hours_in", "channel")


def build(facts: Facts, asked: Asked) -> DataFrame:
    by_hour = facts.message.groupBy("hour", "channel").agg(total("messages"), total("bytes"))
    return ordered(by_hour.select("hour", hours_in(asked), "channel", "messages", "bytes"), "hour", "channel")
