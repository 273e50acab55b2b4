"""When in the week it is busy."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total

NAME = "heat_map"
TITLE = "Hours of the week"
ABOUT = "Messages received by day of the week (1 is Monday) and hour of the day, in UTC; on average per such hour."
KEYS = ("day_of_week", "hour_of_day")
WEEK = 7 * 24


def build(facts: Facts, asked: Asked) -> DataFrame:
    cells = facts.message.groupBy(
        (F.weekday("hour") + 1).alias("day_of_week"), F.hour("hour").alias("hour_of_day")
    ).agg(total("messages"))
    counted = cells.withColumn("hours", _hours_of_cell(asked))
    return ordered(counted.withColumn("messages_per_hour", ratio("messages", "hours")), *KEYS)


def _hours_of_cell(asked: Asked) -> Column:
    """How often the range has this hour of the week, the hours without messages among them."""
    cell = (F.col("day_of_week") - 1) * 24 + F.col("hour_of_day")
    first = asked.start.weekday() * 24 + asked.start.hour
    until_first = F.pmod(cell - F.lit(first), F.lit(WEEK))
    return F.ceil((F.lit(asked.hours) - until_first) / F.lit(WEEK))
