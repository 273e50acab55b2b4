"""How long delivery took."""

from pyspark.sql import DataFrame

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import hours_in, ordered
from spark_analytics.sketches import merged, quantiles_of, size_of

NAME = "latency"
TITLE = "Latency"
ABOUT = (
    "Seconds from a message's acceptance to its delivery, per channel and hour in which the job was made; where"
    " consumers acknowledge by themselves, also the seconds from receipt to acknowledgement."
)
KEYS = ("hours_in", "channel")


def build(facts: Facts, asked: Asked) -> DataFrame:
    by_hour = facts.job.groupBy("hour", "channel").agg(merged("latency").alias("latency"), merged("ack").alias("ack"))
    measured = by_hour.select(
        *("hour", hours_in(asked), "channel"),
        size_of("latency").alias("delivered"),
        *quantiles_of("latency"),
        size_of("ack").alias("acknowledged"),
        *quantiles_of("ack", "ack_"),
    )
    return ordered(measured.where("delivered > 0 OR acknowledged > 0"), "hour", "channel")
