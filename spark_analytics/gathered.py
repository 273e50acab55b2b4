"""What a report is made from: the roll-ups that the lake has, and those of the rows that are not in it yet."""

from dataclasses import dataclass
from datetime import datetime

import pyarrow
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics.errors import NoDatabase, NoTables, UnknownChannel
from spark_analytics.facts import Names
from spark_analytics.rollups import ROLLUPS, SCHEMAS
from spark_analytics.settings import Settings
from spark_analytics.source import Reading, read
from spark_analytics.tables import TABLES, Table

# By which a row has its hour, where that is not the day it is kept under.
HOURS = {"scheduled": "due_at"}
_SLICES = (
    "SELECT path, last_id, first_day::text AS first_day, last_day::text AS last_day FROM lake_slice WHERE kind = {}"
)
# The database keeps marks of what changed after it was exported.
_STALE = """
SELECT count(*) AS count FROM lake_slice s WHERE EXISTS (
    SELECT 1 FROM lake_mark m WHERE m.kind = s.kind AND m.block BETWEEN s.first_id >> 14 AND s.last_id >> 14)
"""
_NAMES = {
    "channels": "SELECT id, public_id AS channel FROM channel",
    "consumers": "SELECT id, public_id AS consumer, channel_id FROM consumer",
    "producers": "SELECT id, public_id AS producer FROM producer",
}


@dataclass(frozen=True)
class Gathered:
    """`stale`: how many slices of the lake wait to be exported anew."""

    rollups: dict[str, DataFrame]
    names: Names
    stale: int


def check(settings: Settings, channels: tuple[str, ...]) -> None:
    """Before Spark starts: that there is a database, and that it knows the channels."""
    known = set(_fetch(settings.database_url, _NAMES["channels"])["channel"].to_pylist())
    if unknown := [name for name in channels if name not in known]:
        raise UnknownChannel(f"There is no channel {', '.join(unknown)}.")


def gather(spark: SparkSession, settings: Settings, start: datetime, end: datetime) -> Gathered:
    rollups = {table.name: _rolled_up(spark, settings, table, start, end) for table in TABLES}
    names = {name: spark.createDataFrame(_fetch(settings.database_url, select)) for name, select in _NAMES.items()}
    return Gathered(rollups, Names(**names), _fetch(settings.database_url, _STALE)["count"][0].as_py())


def _rolled_up(spark: SparkSession, settings: Settings, table: Table, start: datetime, end: datetime) -> DataFrame:
    slices = _fetch(settings.database_url, _SLICES.format(table.kind)).to_pylist()
    newest = max((each["last_id"] for each in slices), default=0)
    hour = HOURS.get(table.name, table.day)
    rows = read(spark, Reading(settings.reads_url, table, first=newest + 1))
    tail = ROLLUPS[table.name](rows.where((F.col(hour) >= F.lit(start)) & (F.col(hour) < F.lit(end))))
    paths = [
        f"{settings.lake_url}/rollup_{table.name}/{each['path']}"
        for each in slices
        if table.name in HOURS or _meets(each, start, end)
    ]
    return tail.unionByName(spark.read.schema(SCHEMAS[table.name]).parquet(*paths)) if paths else tail


def _meets(each: dict[str, str | None], start: datetime, end: datetime) -> bool:
    first, last = each["first_day"], each["last_day"]
    return bool(first and last) and str(first) <= f"{end:%Y-%m-%d}" and str(last) >= f"{start:%Y-%m-%d}"


def _fetch(url: str, select: str) -> pyarrow.Table:
    try:
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(select)
            return cursor.fetch_arrow_table()
    except Error as error:
        # 42P01: there is no such table.
        raise (NoTables if getattr(error, "sqlstate", None) == "42P01" else NoDatabase) from error
