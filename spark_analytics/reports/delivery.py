"""What has become of the jobs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, ratio, total, total_where
from spark_analytics.sketches import merged, quantiles_of
from spark_analytics.statuses import JobStatus

NAME = "delivery"
TITLE = "Delivery"
ABOUT = (
    "Jobs made in the range by what has become of them: which part of the finished ones was delivered, which part"
    " of those tried was claimed more than once, and how long delivery took. Attempts are claims, those given back too:"
    " by a worker that stopped, or a consumer that returned its lease. Failures are those since a job was last queued"
    " again; Failing consumers has the ones before, too."
)
KEYS = ("channel", "consumer")


def build(facts: Facts, asked: Asked) -> DataFrame:
    status = F.col("status")
    counted = facts.job.groupBy("channel", "consumer").agg(
        total("jobs"),
        total_where(status == JobStatus.DELIVERED, "jobs").alias("delivered"),
        total_where(status == JobStatus.DEAD, "jobs").alias("dead"),
        total_where(status.isin(JobStatus.QUEUED, JobStatus.INFLIGHT), "jobs").alias("open"),
        total("tried"),
        total("retried"),
        total("attempts"),
        total("failures"),
        merged("latency").alias("latency"),
    )
    rated = counted.select(
        *("channel", "consumer", "jobs", "delivered", "dead", "open"),
        ratio("delivered", F.col("delivered") + F.col("dead")).alias("success_rate"),
        *("tried", "retried"),
        ratio("retried", "tried").alias("retry_rate"),
        *("attempts", "failures"),
        *quantiles_of("latency"),
    )
    return ordered(rated, "channel", "consumer")
