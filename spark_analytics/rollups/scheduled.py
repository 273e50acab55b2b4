"""Messages for later per hour in which they were due, by how far ahead they were asked for."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_analytics.rollups.columns import counts_within, hour_of, rows
from spark_analytics.sketches import seconds_between, sketch_of
from spark_analytics.statuses import ScheduledStatus

SCHEMA = (
    "hour timestamp, channel_id bigint, status int, horizon string, messages bigint, lag binary, within array<bigint>"
)
# Lags, in seconds, that are counted against.
STEPS = (1.0, 10.0, 60.0)
# Up to so many seconds ahead, the limit among them.
HORIZONS = {"minute": 60, "hour": 3600, "day": 24 * 3600, "week": 7 * 24 * 3600}
FARTHEST = "more"


def keys() -> list[Column]:
    return [hour_of("due_at"), F.col("channel_id"), F.col("status"), _horizon().alias("horizon")]


def figures() -> list[Column]:
    return [rows().alias("messages"), sketch_of(F.col("seconds")).alias("lag"), counts_within(F.col("seconds"), STEPS)]


def _horizon() -> Column:
    ahead = seconds_between("created_at", "scheduled_for")
    named = [F.when(ahead <= limit, F.lit(name)) for name, limit in HORIZONS.items()]
    return F.coalesce(*named, F.lit(FARTHEST))


def lag() -> Column:
    """From when it was due to dispatch; `seconds` of a row."""
    return F.when(F.col("status") == ScheduledStatus.DISPATCHED, seconds_between("due_at", "dispatched_at"))
