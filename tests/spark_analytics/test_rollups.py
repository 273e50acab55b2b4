"""Roll-ups: the columns they promise, the same figures from one slice or from many, sketches that keep their word."""

import pytest
from django.db import connection
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.rollups import ROLLUPS, nothing, rolled_up
from spark_analytics.sketches import merged, quantiles_of, share_within, size_of, sketch_of
from spark_analytics.tables import BY_NAME, TABLES, Table
from tests.spark_analytics.alike import assert_quantiles
from tests.spark_analytics.history import DAYS, make_history
from tests.spark_analytics.reading import as_frame, figures, read, read_names, rows_of, select


def test_there_is_a_roll_up_for_each_table() -> None:
    assert ROLLUPS.keys() == BY_NAME.keys()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_roll_up_has_the_columns_that_it_promises(spark: SparkSession, table: Table) -> None:
    rolled = rolled_up(table.name, as_frame(spark, table, []))
    assert rolled.dtypes == nothing(spark, table.name).dtypes


@pytest.mark.django_db
def test_many_slices_give_the_same_reports_as_one(spark: SparkSession) -> None:
    # The test's transaction waits for Spark.
    connection.cursor().execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    make_history(3, messages=150, scheduled=100)
    asked = Asked(DAYS[1], DAYS[3])
    names = read_names(spark)
    whole = {table.name: rolled_up(table.name, read(spark, table)) for table in TABLES}
    sliced = {table.name: in_slices(read(spark, table), table) for table in TABLES}
    at_once = figures(Facts.of(spark, whole, names, asked), asked)
    assert all(at_once.values())
    assert figures(Facts.of(spark, sliced, names, asked), asked) == at_once


@pytest.mark.django_db
def test_each_consumer_s_bytes_are_those_of_its_messages(spark: SparkSession) -> None:
    connection.cursor().execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    make_history(4, messages=60, scheduled=20)
    rolled = rolled_up("job", read(spark, BY_NAME["job"]))
    sums = rolled.groupBy("consumer_id").agg(F.sum("bytes").alias("sent"))
    bytes_of = {row["consumer_id"]: row["sent"] for row in rows_of(sums)}
    asked = """SELECT consumer_id, sum(octet_length(payload))::bigint AS sent
    FROM delivery_job AS job JOIN message ON message.id = job.message_id GROUP BY 1"""
    assert bytes_of == {row["consumer_id"]: row["sent"] for row in select(asked)}
    assert len(bytes_of) > 1


def in_slices(rows: DataFrame, table: Table) -> DataFrame:
    """Every third id, so that each hour is in all slices."""
    first, second, third = (rolled_up(table.name, rows.where(F.col("id") % 3 == rest)) for rest in range(3))
    return first.unionByName(second).unionByName(third)


def test_a_merged_sketch_of_very_many_values_keeps_its_rank_error(spark: SparkSession) -> None:
    count = 60_000
    # Each number once, in no order: 7919 shares no factor with the count.
    values = spark.range(count).select(
        (F.col("id") % 12).alias("hour"), (F.col("id") * 7919 % count / 10).alias("seconds")
    )
    hours = values.groupBy("hour").agg(sketch_of(F.col("seconds")).alias("sketch"))
    whole = hours.agg(merged("sketch").alias("sketch"))
    [line] = rows_of(
        whole.select(
            size_of("sketch").alias("n"), share_within("sketch", 600.0).alias("share"), *quantiles_of("sketch")
        )
    )
    assert line["n"] == count
    assert line["share"] == pytest.approx(0.1, abs=0.005)
    assert_quantiles(line, "", [number / 10 for number in range(count)])
