"""What reports are made from: the roll-ups of the range and channels that were asked for, with names in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.rollups import nothing


@dataclass(frozen=True)
class Names:
    """Small tables: channels (id, channel), consumers (id, consumer, channel_id), producers (id, producer)."""

    channels: DataFrame
    consumers: DataFrame
    producers: DataFrame


@dataclass(frozen=True)
class Facts:
    """Rows of the roll-ups, one table each; a row has its `channel`, and its `consumer` or `producer`, by name.

    Who was deleted and made anew under the same name is the same to a report.
    """

    message: DataFrame
    job: DataFrame
    scheduled: DataFrame
    attempt: DataFrame
    letter_act: DataFrame

    @classmethod
    def of(cls, spark: SparkSession, rollups: Mapping[str, DataFrame], names: Names, asked: Asked) -> Self:
        """`rollups` by table; a table that is not there has no rows."""

        def of_table(table: str) -> DataFrame:
            rows = rollups[table] if table in rollups else nothing(spark, table)
            return _of_channels(_in_range(rows, asked), names, asked)

        return cls(
            message=_named(of_table("message"), names.producers, "producer"),
            job=_named(of_table("job"), names.consumers, "consumer"),
            scheduled=of_table("scheduled"),
            attempt=_named(of_table("attempt"), names.consumers, "consumer"),
            letter_act=_named(of_table("letter_act"), names.consumers, "consumer"),
        )

    @property
    def tables(self) -> tuple[DataFrame, ...]:
        return (self.message, self.job, self.scheduled, self.attempt, self.letter_act)

    def kept(self) -> Self:
        """For several reports: what is read once stays, until `release`."""
        for table in self.tables:
            table.persist()
        return self

    def release(self) -> None:
        for table in self.tables:
            table.unpersist()


def _in_range(rows: DataFrame, asked: Asked) -> DataFrame:
    return rows.where((F.col("hour") >= F.lit(asked.start)) & (F.col("hour") < F.lit(asked.end)))


def _of_channels(rows: DataFrame, names: Names, asked: Asked) -> DataFrame:
    named = _named(rows, names.channels, "channel")
    return named.where(F.col("channel").isin(*asked.channels)) if asked.channels else named


def _named(rows: DataFrame, names: DataFrame, what: str) -> DataFrame:
    """A row whose name is not known keeps its number."""
    known = names.select(F.col("id").alias(f"{what}_id"), F.col(what).alias("known"))
    joined = rows.join(F.broadcast(known), f"{what}_id", "left")
    return joined.withColumn(what, F.coalesce("known", _number(what))).drop("known", f"{what}_id")


def _number(what: str) -> Column:
    return F.concat(F.lit("#"), F.col(f"{what}_id").cast("string"))
