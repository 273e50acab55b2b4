"""Whether the heap of dead letters grows."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import hours_in, ordered, total_where

NAME = "dead_letter_growth"
TITLE = "Growth of dead letters"
ABOUT = (
    "Dead letters that came in, and that were requeued, edited or discarded, hour by hour; and the one minus the other"
    " since the range began. What went by age, or with its message, is not taken off."
)
KEYS = ("hours_in", "channel")


def build(facts: Facts, asked: Asked) -> DataFrame:
    came_in = F.col("act") == "entered"
    by_hour = facts.letter_act.groupBy("hour", "channel").agg(
        total_where(came_in, "acts").alias("entered"), total_where(~came_in, "acts").alias("resolved")
    )
    growth = by_hour.withColumn("growth", F.col("entered") - F.col("resolved"))
    so_far = Window.partitionBy("channel").orderBy("hour").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    grown = growth.withColumn("grown_so_far", F.sum("growth").over(so_far))
    figures = grown.select("hour", hours_in(asked), "channel", "entered", "resolved", "growth", "grown_so_far")
    return ordered(figures, "hour", "channel")
