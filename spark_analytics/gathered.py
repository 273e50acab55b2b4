"""What a report is made from: the roll-ups that the lake has, and those of the rows that are not in it yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg
import pyarrow
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
from spark_analytics.source import PostgresReader, Reading, read
from spark_analytics.tables import SCHEDULED, TABLES, Table

CONNECT_SECONDS = 10
# As many ids, a day of a busy broker, are no more than some hundred megabytes here.
MOST_READ_HERE = 300_000
_CHANNELS = "SELECT public_id FROM channel"
_ID, _TEXT = pyarrow.int64(), pyarrow.string()
_NAMES = {
    "channels": (("id", "public_id", "channel"), pyarrow.schema({"id": _ID, "channel": _TEXT})),
    "consumers": (
        ("id", "public_id", "channel_id", "consumer"),
        pyarrow.schema({"id": _ID, "consumer": _TEXT, "channel_id": _ID}),
    ),
    "producers": (("id", "public_id", "producer"), pyarrow.schema({"id": _ID, "producer": _TEXT})),
}


@dataclass(frozen=True)
class Gathered:
    """`stale`: how many slices of the lake changed since they were exported."""

    rollups: dict[str, DataFrame]
    names: Names
    stale: int


def check(settings: Settings, channels: tuple[str, ...]) -> None:
    """Before Spark starts: that there is a database, and that it knows the channels."""
    with _connected(settings) as connection:
        known = {name for (name,) in connection.execute(_CHANNELS)}
    if unknown := [name for name in channels if name not in known]:
        raise UnknownChannel(f"There is no channel {', '.join(unknown)}.")


def gather(spark: SparkSession, settings: Settings, start: datetime, end: datetime) -> Gathered:
    with _connected(settings) as connection:
        source = _Source(spark, settings, connection)
        rollups = {table.name: source.rolled_up(table, start, end) for table in TABLES}
        return Gathered(rollups, _names(spark, connection), sum(_stale(connection, table) for table in TABLES))


@dataclass(frozen=True)
class _Source:
    spark: SparkSession
    settings: Settings
    connection: Connection

    def rolled_up(self, table: Table, start: datetime, end: datetime) -> DataFrame:
        """The tail begins where the slices end that are in this snapshot: an export meanwhile adds nothing."""
        lake = Lake(self.spark, self.settings.lake_url)
        kept = read_rollups(lake, self.connection, table, start.date(), end.date())
        rows = self._tail(table)
        if rows is None:
            return kept
        at = F.col("due_at" if table is SCHEDULED else table.day)
        return ROLLUPS[table.name](rows.where((at >= F.lit(start)) & (at < F.lit(end)))).unionByName(kept)

    def _tail(self, table: Table) -> DataFrame | None:
        """A day's rows are read here: Spark would need seconds to start processes that read them."""
        first = tail_from(self.connection, table)
        [[newest]] = self.connection.execute(f"SELECT coalesce(max(id), 0) FROM {table.relation}")  # noqa: S608
        reading = Reading(self.settings.reads_url, table, first=first, last=newest)
        if newest - first >= MOST_READ_HERE:
            return read(self.spark, reading)
        reader = PostgresReader(reading, 1)
        batches = [batch for part in reader.partitions() for batch in reader.read(part)] if newest >= first else []
        return self.spark.createDataFrame(pyarrow.Table.from_batches(batches)) if batches else None


def _names(spark: SparkSession, connection: Connection) -> Names:
    found = {
        name: pyarrow.table(_columns(connection, *query), schema=schema) for name, (query, schema) in _NAMES.items()
    }
    return Names(**{name: spark.createDataFrame(table) for name, table in found.items()})


def _columns(connection: Connection, *columns: str) -> list[list[object]]:
    *shown, table = columns
    rows = connection.execute(f"SELECT {', '.join(shown)} FROM {table}").fetchall()  # noqa: S608
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in shown]


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
