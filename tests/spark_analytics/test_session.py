"""The session, and what one for reports shares with it."""

import os
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from spark_analytics.session import SMALL, for_small_tables


def test_a_session_for_small_tables_is_on_the_same_jvm_and_plans_for_itself_alone(spark: SparkSession) -> None:
    before = {key: spark.conf.get(key) for key in SMALL}
    beside = for_small_tables(spark)
    assert beside.sparkContext is spark.sparkContext
    assert {key: beside.conf.get(key) for key in SMALL} == SMALL
    assert {key: spark.conf.get(key) for key in SMALL} == before


@pytest.mark.parametrize(("chosen", "ours"), [("-Xss2m", True), ("-XX:+UseG1GC", False)])
def test_a_collector_that_somebody_chose_is_left_alone(chosen: str, ours: bool) -> None:
    asked = "from spark_analytics.session import JAVA; print('-XX:+UseParallelGC' in JAVA)"
    told = os.environ | {"JAVA_TOOL_OPTIONS": chosen}
    said = subprocess.run([sys.executable, "-c", asked], env=told, stdout=subprocess.PIPE, check=True, text=True)
    assert said.stdout.strip() == str(ours)
