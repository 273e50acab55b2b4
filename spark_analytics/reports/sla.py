"""Whether what was promised was kept."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import known, known_within, ordered, ratio, total_where
from spark_analytics.rollups.job import STEPS
from spark_analytics.sketches import K
from spark_analytics.statuses import JobStatus

NAME = "sla"
TITLE = "Delivered in time"
ABOUT = (
    "Which part of the finished jobs was delivered within the target; what is dead was not. It is counted for a"
    f" target of {', '.join(f'{seconds:g}' for seconds in STEPS)} seconds. For any other, and for what was exported"
    f" before such counts were kept, it is exact for hours in which a consumer has up to {K} deliveries, and estimated"
    " for busier ones: hardly ever off by more than half a point."
)
KEYS = ("channel", "consumer")


def build(facts: Facts, asked: Asked) -> DataFrame:
    dead = total_where(F.col("status") == JobStatus.DEAD, "jobs")
    counted = facts.job.groupBy(*KEYS).agg(
        F.lit(float(asked.sla_seconds)).alias("target_seconds"),
        (F.sum(known("latency")) + dead).alias("finished"),
        F.sum(known_within("latency", asked.sla_seconds, STEPS)).alias("in_time"),
    )
    rated = counted.where("finished > 0").withColumn("attainment", ratio("in_time", "finished"))
    return ordered(rated, "attainment", *KEYS)
