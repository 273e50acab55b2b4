"""What the reports are made from: the rows of a table, added up per hour. A function for each table of the lake.

The rows of several slices need no merging here: a report adds up again whatever it is given.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from spark_analytics.rollups import attempt, job, letter_act, message, scheduled

ROLLUPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "message": message.roll_up,
    "job": job.roll_up,
    "scheduled": scheduled.roll_up,
    "attempt": attempt.roll_up,
    "letter_act": letter_act.roll_up,
}
SCHEMAS: dict[str, str] = {
    "message": message.SCHEMA,
    "job": job.SCHEMA,
    "scheduled": scheduled.SCHEMA,
    "attempt": attempt.SCHEMA,
    "letter_act": letter_act.SCHEMA,
}


def nothing(spark: SparkSession, table: str) -> DataFrame:
    """The roll-up of no rows."""
    return spark.createDataFrame([], SCHEMAS[table])
