"""From the test's database to DataFrames as the lake has them, and from reports to plain rows."""

from typing import Any

import pyarrow as pa
from django.db import connection
from pyspark.sql import DataFrame, SparkSession

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts, Names
from spark_analytics.reports import REPORTS
from spark_analytics.tables import Table, Type

Row = dict[str, Any]
ARROW = {
    Type.BIGINT: pa.int64(),
    Type.INT: pa.int32(),
    Type.TEXT: pa.string(),
    Type.MOMENT: pa.timestamp("us", tz="UTC"),
}


def select(sql: str, parameters: Any = None) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def as_frame(spark: SparkSession, table: Table, rows: list[Row]) -> DataFrame:
    """With the columns of the table; what a row does not name is NULL."""
    schema = pa.schema([(column.name, ARROW[column.type]) for column in table.columns])
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


def read(spark: SparkSession, table: Table) -> DataFrame:
    columns = ", ".join(f'{column.sql} AS "{column.name}"' for column in table.columns)
    return as_frame(spark, table, select(f"SELECT {columns} FROM {table.rows}"))  # noqa: S608


def read_names(spark: SparkSession) -> Names:
    return Names(
        channels=_names(spark, "SELECT id, public_id AS channel FROM channel", channel=pa.string()),
        consumers=_names(
            spark,
            "SELECT id, public_id AS consumer, channel_id FROM consumer",
            consumer=pa.string(),
            channel_id=pa.int64(),
        ),
        producers=_names(spark, "SELECT id, public_id AS producer FROM producer", producer=pa.string()),
    )


def _names(spark: SparkSession, sql: str, **types: pa.DataType) -> DataFrame:
    schema = pa.schema([("id", pa.int64()), *types.items()])
    return spark.createDataFrame(pa.Table.from_pylist(select(sql), schema=schema))


def rows_of(frame: DataFrame) -> list[Row]:
    """By Arrow, which keeps the time zone; Spark's own rows have times of the machine's zone."""
    rows: list[Row] = frame.toArrow().to_pylist()
    return rows


def figures(facts: Facts, asked: Asked) -> dict[str, list[Row]]:
    kept = facts.kept()
    found = {report.NAME: rows_of(report.build(kept, asked)) for report in REPORTS}
    kept.release()
    return found
