"""Who fails most."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total, total_where
from spark_analytics.statuses import NOT_FAILED

NAME = "failing_consumers"
TITLE = "Failing consumers"
ABOUT = (
    "Consumers with failed attempts, the worst first, and what they failed of most often. A lost worker, a time that is"
    " over and what was deleted meanwhile are no failures of theirs."
)
KEYS = ("channel", "consumer")


def build(facts: Facts, asked: Asked) -> DataFrame:
    failed = ~F.col("reason").isin(*NOT_FAILED)
    by_reason = facts.attempt.groupBy(*KEYS, "reason").agg(total("attempts"), total("duration_ms"))
    counted = by_reason.groupBy(*KEYS).agg(
        total("attempts"),
        total_where(failed, "attempts").alias("failed"),
        F.max(F.when(failed, F.struct("attempts", "reason")))["reason"].alias("main_reason"),
        total("duration_ms"),
    )
    rated = counted.where("failed > 0").select(
        *(*KEYS, "attempts", "failed"),
        ratio("failed", "attempts").alias("failure_rate"),
        "main_reason",
        ratio("duration_ms", F.col("attempts") * 1000).alias("mean_seconds"),
    )
    return ordered(rated, F.desc("failed"), *KEYS)
