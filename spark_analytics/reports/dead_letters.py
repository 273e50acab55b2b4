"""What dies, of what, at whom."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports.columns import ordered, total
from spark_analytics.statuses import JobStatus

NAME = "dead_letters"
TITLE = "Dead letters"
ABOUT = (
    "Dead letters by cause and consumer: how many came in during the range, and how many of the jobs made in the range"
    " are dead now, those among them for whom a channel keeps no letter."
)
KEYS = ("channel", "consumer", "reason")


def build(facts: Facts, asked: Asked) -> DataFrame:
    entered = facts.letter_act.where(F.col("act") == "entered")
    dead = facts.job.where(F.col("status") == JobStatus.DEAD)
    both = _rows(entered, entered=F.col("acts")).unionByName(_rows(dead, dead=F.col("jobs")))
    counted = both.groupBy(*KEYS).agg(total("entered"), total("dead"))
    return ordered(counted, F.desc("entered"), F.desc("dead"), *KEYS)


def _rows(rows: DataFrame, **known: Column) -> DataFrame:
    zero = F.lit(0).cast("bigint")
    return rows.select(*KEYS, *(known.get(name, zero).alias(name) for name in ("entered", "dead")))
