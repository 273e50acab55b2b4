"""Whether what was asked for long ago comes later than what was asked for just now."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import known, known_within, ordered, ratio, total
from spark_analytics.rollups.scheduled import FARTHEST, HORIZONS, STEPS
from spark_analytics.sketches import merged, quantiles_of

NAME = "lateness"
TITLE = "Lateness by horizon"
ABOUT = (
    "Messages for later by how far ahead they were asked for (up to a minute, an hour, a day, a week, or more): how"
    " late they were, and which part was dispatched within a second, ten seconds, a minute of its time."
)
KEYS = ("horizon",)
WITHIN = {f"within_{seconds:g}s": seconds for seconds in STEPS}


def build(facts: Facts, asked: Asked) -> DataFrame:
    cohorts = facts.scheduled.groupBy("horizon").agg(
        total("messages"),
        F.sum(known("lag")).alias("dispatched"),
        merged("lag").alias("lag"),
        *(F.sum(known_within("lag", seconds, STEPS)).alias(name) for name, seconds in WITHIN.items()),
    )
    measured = cohorts.select(
        *("horizon", "messages", "dispatched"),
        *quantiles_of("lag"),
        *(ratio(name, "dispatched").alias(name) for name in WITHIN),
    )
    return ordered(measured, _place())


def _place() -> Column:
    order = F.array(*(F.lit(name) for name in (*HORIZONS, FARTHEST)))
    return F.array_position(order, F.col("horizon"))
