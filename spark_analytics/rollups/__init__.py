"""What the reports are made from: the rows of a table, added up per hour. A module for each table of the lake.

The rows of several slices need no merging here: a report adds up again whatever it is given.
"""

from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession

from spark_analytics.rollups import attempt, job, letter_act, message, scheduled


class RollUp(Protocol):
    """What the module of a roll-up has. Spark makes columns only while it runs."""

    @property
    def SCHEMA(self) -> str: ...

    def keys(self) -> list[Column]: ...
    def figures(self) -> list[Column]: ...


ROLLUPS: dict[str, RollUp] = {
    "message": message,
    "job": job,
    "scheduled": scheduled,
    "attempt": attempt,
    "letter_act": letter_act,
}


# What a roll-up asks of a row again and again is reckoned once a row: else an export would spend twice as long on it.
_SECONDS = {"job": job.latency, "scheduled": scheduled.lag}


def rolled_up(table: str, rows: DataFrame, *also: Column) -> DataFrame:
    """With further aggregates, if they are asked for: rows are read once for both."""
    rollup = ROLLUPS[table]
    if table in _SECONDS:
        rows = rows.withColumn("seconds", _SECONDS[table]())
    return rows.groupBy(*rollup.keys()).agg(*rollup.figures(), *also)


def nothing(spark: SparkSession, table: str) -> DataFrame:
    """The roll-up of no rows."""
    return spark.createDataFrame([], ROLLUPS[table].SCHEMA)
