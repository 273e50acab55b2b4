"""The session, and what one for reports shares with it."""

from pyspark.sql import SparkSession

from spark_analytics.session import SMALL, for_small_tables


def test_a_session_for_small_tables_is_on_the_same_jvm_and_plans_for_itself_alone(spark: SparkSession) -> None:
    before = {key: spark.conf.get(key) for key in SMALL}
    beside = for_small_tables(spark)
    assert beside.sparkContext is spark.sparkContext
    assert {key: beside.conf.get(key) for key in SMALL} == SMALL
    assert {key: spark.conf.get(key) for key in SMALL} == before
