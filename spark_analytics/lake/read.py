"""What is in the lake, for reports: slices of some days, their rows and roll-ups."""

from collections.abc import Sequence
from datetime import date

from psycopg import Connection
from pyspark.sql import DataFrame
from pyspark.sql.types import DateType

from spark_analytics import manifest
from spark_analytics.lake.places import Lake
from spark_analytics.manifest import Slice
from spark_analytics.rollups import ROLLUPS, nothing
from spark_analytics.source import schema_of
from spark_analytics.tables import Table


def slices(connection: Connection, table: Table, start: date, end: date) -> list[Slice]:
    """Those with rows, or hours of their roll-ups, of these UTC days, both included."""
    return [one for one in manifest.slices(connection, table) if overlaps(one, start, end)]


def overlaps(one: Slice, start: date, end: date) -> bool:
    return one.first_day is not None and one.last_day is not None and one.first_day <= end and one.last_day >= start


def rows(lake: Lake, table: Table, paths: Sequence[str]) -> DataFrame:
    """Rows of these slices, with their `day`."""
    schema = schema_of(table).add("day", DateType())
    if not paths:
        return lake.spark.createDataFrame([], schema)
    return lake.spark.read.schema(schema).parquet(*[lake.rows(table, path) for path in paths])


def read_rollups(lake: Lake, table: Table, found: Sequence[Slice]) -> DataFrame:
    """Roll-up rows of these slices; hours are not cut yet."""
    if not found:
        return nothing(lake.spark, table.name)
    return lake.spark.read.schema(ROLLUPS[table.name].SCHEMA).parquet(*[lake.rollup(table, one.path) for one in found])
