"""What a report is made from: the roll-ups that the lake has, and those of the rows that are not in it yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg import Connection
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics import manifest
from spark_analytics.errors import NoDatabase, NoTables, UnknownChannel
from spark_analytics.facts import Names
from spark_analytics.lake.places import Lake
from spark_analytics.lake.read import read_rollups, tail_from
from spark_analytics.rollups import ROLLUPS
from spark_analytics.settings import Settings
from spark_analytics.source import Reading, read
from spark_analytics.tables import SCHEDULED, TABLES, Table

CONNECT_SECONDS = 10
_CHANNELS = "SELECT id, public_id FROM channel"
_CONSUMERS = "SELECT id, public_id, channel_id FROM consumer"
_PRODUCERS = "SELECT id, public_id FROM producer"


@dataclass(frozen=True)
class Gathered:
    """`stale`: how many slices of the lake changed since they were exported."""

    rollups: dict[str, DataFrame]
    names: Names
    stale: int


def check(settings: Settings, channels: tuple[str, ...]) -> None:
    """Before Spark starts: that there is a database, and that it knows the channels."""
    with _connected(settings) as connection:
        known = {name for _, name in connection.execute(_CHANNELS)}
    if unknown := [name for name in channels if name not in known]:
        raise UnknownChannel(f"There is no channel {', '.join(unknown)}.")


def gather(spark: SparkSession, settings: Settings, start: datetime, end: datetime) -> Gathered:
    with _connected(settings) as connection:
        rollups = {table.name: _rolled_up(spark, settings, connection, table, start, end) for table in TABLES}
        return Gathered(rollups, _names(spark, connection), sum(_stale(connection, table) for table in TABLES))


def _rolled_up(
    spark: SparkSession, settings: Settings, connection: Connection, table: Table, start: datetime, end: datetime
) -> DataFrame:
    """The tail begins where the slices end that were there just before: a run that exports meanwhile adds nothing."""
    first = tail_from(connection, table)
    kept = read_rollups(Lake(spark, settings.lake_url), connection, table, start.date(), end.date())
    rows = read(spark, Reading(settings.reads_url, table, first=first))
    at = F.col("due_at" if table is SCHEDULED else table.day)
    return ROLLUPS[table.name](rows.where((at >= F.lit(start)) & (at < F.lit(end)))).unionByName(kept)


def _names(spark: SparkSession, connection: Connection) -> Names:
    return Names(
        channels=spark.createDataFrame(connection.execute(_CHANNELS).fetchall(), "id bigint, channel string"),
        consumers=spark.createDataFrame(
            connection.execute(_CONSUMERS).fetchall(), "id bigint, consumer string, channel_id bigint"
        ),
        producers=spark.createDataFrame(connection.execute(_PRODUCERS).fetchall(), "id bigint, producer string"),
    )


def _stale(connection: Connection, table: Table) -> int:
    marks = manifest.marks(connection, table)
    return sum(any(mark.touches(one.ids) for mark in marks) for one in manifest.slices(connection, table))


@contextmanager
def _connected(settings: Settings) -> Iterator[Connection]:
    """One snapshot: the slices and where they end belong together."""
    try:
        with psycopg.connect(settings.database_url, connect_timeout=CONNECT_SECONDS) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
    except psycopg.errors.UndefinedTable as error:
        raise NoTables from error
    except psycopg.OperationalError as error:
        raise NoDatabase from error
