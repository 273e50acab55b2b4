"""How late messages for later were."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import hours_in, ordered, total, total_where
from spark_analytics.sketches import merged, quantiles_of
from spark_analytics.statuses import ScheduledStatus

NAME = "scheduler_lag"
TITLE = "Scheduler lag"
ABOUT = "Messages for later by the hour in which they were due, and how many seconds after that they were dispatched."
KEYS = ("hours_in", "channel")


def build(facts: Facts, asked: Asked) -> DataFrame:
    by_hour = facts.scheduled.groupBy("hour", "channel").agg(
        total("messages"),
        *(total_where(F.col("status") == status, "messages").alias(status.name.lower()) for status in ScheduledStatus),
        merged("lag").alias("lag"),
    )
    measured = by_hour.select(
        *("hour", hours_in(asked), "channel", "messages"),
        *(status.name.lower() for status in ScheduledStatus),
        *quantiles_of("lag"),
    )
    return ordered(measured, "hour", "channel")
