"""Whether what was asked for long ago comes later than what was asked for just now."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, total
from spark_analytics.rollups.scheduled import FARTHEST, HORIZONS
from spark_analytics.sketches import merged, quantiles_of, share_within, size_of

NAME = "lateness"
TITLE = "Lateness by horizon"
ABOUT = (
    "Messages for later by how far ahead they were asked for (up to a minute, an hour, a day, a week, or more): how"
    " late they were, and which part was dispatched within a second, ten seconds, a minute of its time."
)
KEYS = ("horizon",)
STEPS = {"within_1s": 1.0, "within_10s": 10.0, "within_60s": 60.0}


def build(facts: Facts, asked: Asked) -> DataFrame:
    cohorts = facts.scheduled.groupBy("horizon").agg(total("messages"), merged("lag").alias("lag"))
    measured = cohorts.select(
        *("horizon", "messages"),
        size_of("lag").alias("dispatched"),
        *quantiles_of("lag"),
        *(share_within("lag", seconds).alias(name) for name, seconds in STEPS.items()),
    )
    return ordered(measured, _place())


def _place() -> Column:
    order = F.array(*(F.lit(name) for name in (*HORIZONS, FARTHEST)))
    return F.array_position(order, F.col("horizon"))
