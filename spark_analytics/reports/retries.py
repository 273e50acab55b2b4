"""Whether it pays to try again."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total, total_where

NAME = "retries"
TITLE = "Which attempt succeeds"
ABOUT = (
    "First attempts, second ones and so on: how many succeeded. They are numbered by the claims of their job: after one"
    " that was given back, the first attempt is the second. The tenth stands for all that come after it too."
)
KEYS = ("attempt",)


def build(facts: Facts, asked: Asked) -> DataFrame:
    succeeded = F.col("reason") == ""
    counted = facts.attempt.groupBy("attempt").agg(
        total("attempts"), total_where(succeeded, "attempts").alias("succeeded")
    )
    rated = counted.select(
        *("attempt", "attempts", "succeeded"),
        (F.col("attempts") - F.col("succeeded")).alias("failed"),
        ratio("succeeded", "attempts").alias("success_rate"),
        # Ten rows at most: one window over all of them is cheap.
        ratio("succeeded", F.sum("succeeded").over(Window.partitionBy(F.lit(1)))).alias("share_of_successes"),
    )
    return ordered(rated, "attempt")
