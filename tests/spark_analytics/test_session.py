"""The session, what one for reports shares with it, and how it stands back."""

import os
import subprocess
import sys

from pyspark.sql import SparkSession

from spark_analytics.session import SMALL, for_small_tables

# Says how nice Spark's process is, and how nice its own.
OPENING = """
import os
from spark_analytics.session import open_session
session = open_session()
process = session.sparkContext._gateway.proc.pid
print(os.getpriority(os.PRIO_PROCESS, process), os.nice(0))
session.stop()
"""


def test_a_session_for_small_tables_is_on_the_same_jvm_and_plans_for_itself_alone(spark: SparkSession) -> None:
    before = {key: spark.conf.get(key) for key in SMALL}
    beside = for_small_tables(spark)
    assert beside.sparkContext is spark.sparkContext
    assert {key: beside.conf.get(key) for key in SMALL} == SMALL
    assert {key: spark.conf.get(key) for key in SMALL} == before


def test_a_session_on_this_machine_stands_back() -> None:
    """In a process of its own: nobody stands forward again."""
    nicer = os.nice(0) + 3
    told = {"SPARK_NICENESS": str(nicer), "SPARK_MASTER": ""}
    done = subprocess.run(
        [sys.executable, "-c", OPENING], env=os.environ | told, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.split() == [str(nicer), str(os.nice(0))]
