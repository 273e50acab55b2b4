"""Jobs per hour in which they were made, by what has become of them."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import counts_within, hour_of, reason, rows, rows_where, total
from spark_analytics.sketches import seconds_between, sketch_of
from spark_analytics.statuses import JobStatus

SCHEMA = (
    "hour timestamp, channel_id bigint, consumer_id bigint, status int, reason string, jobs bigint, tried bigint,"
    " retried bigint, bytes bigint, attempts bigint, failures bigint, latency binary, ack binary,"
    " within array<bigint>"
)
# Targets, in seconds, that are counted against: reports of these are exact and quick.
STEPS = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


def keys() -> list[Column]:
    return [hour_of("created_at"), F.col("channel_id"), F.col("consumer_id"), F.col("status"), reason()]


def latency() -> Column:
    """From the message's acceptance to delivery; `seconds` of a row."""
    return _if_delivered(seconds_between("accepted_at", "status_changed_at"))


def figures() -> list[Column]:
    """`ack` is from the consumer's receipt to its word. `within` counts the latencies that are at most each of STEPS.

    `attempt` rises with every claim, and a job does not know which of them were given back: `tried`, `retried` and
    `attempts` count claims.
    """
    return [
        rows().alias("jobs"),
        rows_where(F.col("attempt") > 0).alias("tried"),
        rows_where(F.col("attempt") > 1).alias("retried"),
        total("bytes").alias("bytes"),
        total("attempt").alias("attempts"),
        total("failures").alias("failures"),
        sketch_of(F.col("seconds")).alias("latency"),
        sketch_of(_if_delivered(seconds_between("received_at", "status_changed_at"))).alias("ack"),
        counts_within(F.col("seconds"), STEPS),
    ]


def _if_delivered(seconds: Column) -> Column:
    return F.when(F.col("status") == JobStatus.DELIVERED, seconds)
