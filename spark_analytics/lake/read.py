"""What is in the lake, for reports: slices of some days, their rows and roll-ups, and where the live tail begins."""

from collections.abc import Sequence
from datetime import date, timedelta

from psycopg import Connection
from pyspark.sql import DataFrame
from pyspark.sql.types import DateType

from spark_analytics import manifest
from spark_analytics.lake.places import Lake
from spark_analytics.manifest import Slice
from spark_analytics.rollups import ROLLUPS
from spark_analytics.source import schema_of
from spark_analytics.tables import SCHEDULED, Table


def slices(connection: Connection, table: Table, start: date, end: date) -> list[Slice]:
    """Those with rows of these UTC days, both included."""
    return [one for one in manifest.slices(connection, table) if overlaps(one, start, end)]


def overlaps(one: Slice, start: date, end: date) -> bool:
    return one.first_day is not None and one.last_day is not None and one.first_day <= end and one.last_day >= start


def tail_from(connection: Connection, table: Table) -> int:
    """The first id that is not in the lake: from there on, read the database."""
    return manifest.end_of(connection, table) + 1


def rows(lake: Lake, table: Table, paths: Sequence[str]) -> DataFrame:
    """Rows of these slices, with their `day`."""
    schema = schema_of(table).add("day", DateType())
    if not paths:
        return lake.spark.createDataFrame([], schema)
    return lake.spark.read.schema(schema).parquet(*[lake.rows(table, path) for path in paths])


def read_rollups(lake: Lake, connection: Connection, table: Table, start: date, end: date) -> DataFrame:
    """Roll-up rows of all slices that may have some of these days; hours are not cut yet."""
    found = slices(connection, table, *_days(table, start, end))
    empty = ROLLUPS[table.name](rows(lake, table, []))
    if not found:
        return empty
    return lake.spark.read.schema(empty.schema).parquet(*[lake.rollup(table, one.path) for one in found])


def _days(table: Table, start: date, end: date) -> tuple[date, date]:
    """Messages for later are rolled up by when they are due: some time after the day they belong to."""
    return (date.min, end + timedelta(days=1)) if table is SCHEDULED else (start, end)
