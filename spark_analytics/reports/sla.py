"""Whether what was promised was kept."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total_where
from spark_analytics.sketches import merged, share_within, size_of
from spark_analytics.statuses import JobStatus

NAME = "sla"
TITLE = "Delivered in time"
ABOUT = "Which part of the finished jobs was delivered within the target; what is dead was not."
KEYS = ("channel", "consumer")


def build(facts: Facts, asked: Asked) -> DataFrame:
    merged_rows = facts.job.groupBy(*KEYS).agg(
        merged("latency").alias("latency"), total_where(F.col("status") == JobStatus.DEAD, "jobs").alias("dead")
    )
    in_time = F.round(share_within("latency", asked.sla_seconds) * size_of("latency")).cast("bigint")
    counted = merged_rows.select(
        *KEYS,
        F.lit(float(asked.sla_seconds)).alias("target_seconds"),
        (size_of("latency") + F.col("dead")).alias("finished"),
        F.coalesce(in_time, F.lit(0)).alias("in_time"),
    )
    rated = counted.where("finished > 0").withColumn("attainment", ratio("in_time", "finished"))
    return ordered(rated, "attainment", *KEYS)
