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
from spark_analytics.lake import plan, settled
from spark_analytics.lake.places import Lake
from spark_analytics.lake.read import read_rollups, slices
from spark_analytics.manifest import Ids, Slice
from spark_analytics.rollups import rolled_up
from spark_analytics.settings import Settings
from spark_analytics.source import PostgresReader, Reading, read, readers_of
from spark_analytics.tables import TABLES, Table

CONNECT_SECONDS = 10
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
    """`stale`: how many slices of the range changed since they were exported."""

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
    """The slices and where they end are of one snapshot, which is let go before the replica is waited for."""
    with _connected(settings) as connection:
        seen = [_look(connection, table, start, end) for table in TABLES]
        names = {name: _names(connection, *told) for name, told in _NAMES.items()}
        connection.commit()
        settled.wait_for_replica(connection, settings.reads_url)
    rollups = {one.table.name: _rolled_up(spark, settings, one, start, end) for one in seen}
    known = Names(**{name: spark.createDataFrame(table) for name, table in names.items()})
    return Gathered(rollups, known, sum(one.stale for one in seen))


@dataclass(frozen=True)
class _Seen:
    """A table's slices with something of the range, how many of them changed since, and the ids that are in none."""

    table: Table
    slices: list[Slice]
    stale: int
    outside: Ids


def _look(connection: Connection, table: Table, start: datetime, end: datetime) -> _Seen:
    found = slices(connection, table, start.date(), end.date())
    stale = len(plan.dirty(found, manifest.marks(connection, table)))
    return _Seen(table, found, stale, plan.outside(connection, table))


def _rolled_up(spark: SparkSession, settings: Settings, seen: _Seen, start: datetime, end: datetime) -> DataFrame:
    kept = read_rollups(Lake(spark, settings.lake_url), seen.table, seen.slices)
    rows = tail(spark, Reading(settings.reads_url, seen.table, seen.outside.first, seen.outside.last))
    if rows is None:
        return kept
    at = F.col(seen.table.hour)
    in_range = rows.where((at >= F.lit(start)) & (at < F.lit(end)))
    return rolled_up(seen.table.name, in_range).unionByName(kept)


def tail(spark: SparkSession, reading: Reading) -> DataFrame | None:
    """What is not in the lake. Rows of a slice's size, a day of a busy broker, are no more than some hundred megabytes:
    they are read here, as Spark would need seconds to start processes that do it.

    More are read in parts no larger than a slice: however many there are, no transaction is long.
    """
    assert reading.last is not None
    if reading.last - reading.first >= plan.SLICE_IDS:
        parts = len(plan.pieces(reading.first, reading.last))
        return read(spark, reading, max(parts, readers_of(spark)))
    if reading.last < reading.first:
        return None
    reader = PostgresReader(reading, 1)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return spark.createDataFrame(pyarrow.Table.from_batches(batches)) if batches else None


def _names(connection: Connection, columns: tuple[str, ...], schema: pyarrow.Schema) -> pyarrow.Table:
    *shown, table = columns
    rows = connection.execute(f"SELECT {', '.join(shown)} FROM {table}").fetchall()  # noqa: S608
    return pyarrow.table([list(column) for column in zip(*rows, strict=True)] or [[] for _ in shown], schema=schema)


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
