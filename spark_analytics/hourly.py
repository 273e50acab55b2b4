"""What the lake's roll-ups say by the hour, of each consumer, of each channel and of all: for numbers over time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import psycopg
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics.lake.places import Lake
from spark_analytics.lake.read import read_rollups, slices
from spark_analytics.reports.columns import total_where
from spark_analytics.run import collected
from spark_analytics.settings import Settings
from spark_analytics.sketches import merged, shares_within, size_of
from spark_analytics.statuses import NOT_FAILED, ScheduledStatus
from spark_analytics.tables import BY_NAME

# What a job died of without a failed try. Of poison the roll-ups do not tell whether its last try was lost with our
# worker, as most are, or not acknowledged in time: the latter counts as tried again. So does the last failed try of a
# job that left no letter.
NOT_BY_FAILURE = (*NOT_FAILED, "poison")


@dataclass
class Hour:
    """Channel 0 stands for all, consumer 0 for a channel's. Times are counts by how many edges they have reached."""

    hour: datetime
    channel_id: int
    consumer_id: int
    accepted: int = 0
    delivered: int = 0
    failed: int = 0
    dead: int = 0
    scheduled: int = 0
    retried: int = 0
    latency: list[int] = field(default_factory=list)
    lag: list[int] = field(default_factory=list)


def hours(spark: SparkSession, settings: Settings, start: date, end: date, edges: Sequence[float]) -> list[Hour]:
    """Of these days, both included, as far as they are in the lake."""
    found: dict[tuple[datetime, int, int], Hour] = {}
    for name, figures in _figures().items():
        rows = _rollups(spark, settings, name, start, end)
        for row in collected(_by_level(rows, figures, _TIMES.get(name), edges)):
            key = (row["hour"], row["channel_id"], row["consumer_id"])
            _tell(found.setdefault(key, Hour(*key)), row)
    return list(found.values())


# The sketch of a table that is merged.
_TIMES = {"job": "latency", "scheduled": "lag"}
_WHOSE = ("channel_id", "consumer_id")


def _figures() -> dict[str, dict[str, Column]]:
    """What the rows of each roll-up add up to. Spark makes columns only while it runs."""
    failed = total_where(~F.col("reason").isin(*NOT_FAILED), "attempts")
    entered = F.col("act") == "entered"
    return {
        "message": {"accepted": F.sum("messages")},
        "attempt": {
            "delivered": total_where(F.col("reason") == "", "attempts"),
            "failed": failed,
            "retried": failed,
        },
        "letter_act": {
            "dead": total_where(entered, "acts"),
            "retried": -total_where(entered & ~F.col("reason").isin(*NOT_BY_FAILURE), "acts"),
        },
        "job": {},
        "scheduled": {"scheduled": total_where(F.col("status") == ScheduledStatus.DISPATCHED, "messages")},
    }


def _rollups(spark: SparkSession, settings: Settings, name: str, start: date, end: date) -> DataFrame:
    with psycopg.connect(settings.database_url) as connection:
        found = slices(connection, BY_NAME[name], start, end)
    rows = read_rollups(Lake(spark, settings.lake_url), BY_NAME[name], found)
    return rows.where((F.col("hour") >= F.lit(start)) & (F.col("hour") < F.lit(end + timedelta(days=1))))


def _by_level(rows: DataFrame, figures: dict[str, Column], times: str | None, edges: Sequence[float]) -> DataFrame:
    """For the channels and for all too; and for consumers, if the table knows them."""
    keys = ["hour", "channel_id", *({"consumer_id"} & set(rows.columns))]
    amounts = [column.alias(name) for name, column in figures.items()]
    sketches = [merged(times).alias("sketch")] if times else []
    added = rows.rollup(*keys).agg(*amounts, *sketches).where("hour IS NOT NULL")
    whose = [F.coalesce(key, F.lit(0)).alias(key) if key in keys else F.lit(0).alias(key) for key in _WHOSE]
    return added.select("hour", *whose, *figures, *_measured(times, edges))


def _measured(times: str | None, edges: Sequence[float]) -> list[Column]:
    if times is None:
        return []
    return [
        F.lit(times).alias("times"),
        size_of("sketch").alias("size"),
        shares_within("sketch", edges).alias("shares"),
    ]


def _tell(hour: Hour, row: dict[str, Any]) -> None:
    for name in ("accepted", "delivered", "failed", "dead", "scheduled", "retried"):
        setattr(hour, name, getattr(hour, name) + (row.get(name) or 0))
    if row.get("shares"):
        setattr(hour, row["times"], counts_of(row["shares"], row["size"]))


def counts_of(shares: Sequence[float], size: int) -> list[int]:
    """How many lie below the first edge, between each two, and above the last; up to the last that are any."""
    sums = [0, *(round(share * size) for share in shares), size]
    counts = [after - before for before, after in pairwise(sums)]
    while counts and not counts[-1]:
        counts.pop()
    return counts
