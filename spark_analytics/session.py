"""The Spark session: quiet, in UTC, small enough for a laptop; SPARK_MASTER points it at a cluster."""

import atexit
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from spark_analytics.java import java_home

LOCAL = "local[2]"
TOP = Path(__file__).resolve().parents[1]
# Measured on two cores. Big aggregations with sketches fall back to sorting too soon by default.
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.log.level": "ERROR",
}


def open_session(name: str = "broker") -> SparkSession:
    """The one of this process; the first call takes ten seconds and more."""
    master = os.environ.get("SPARK_MASTER") or LOCAL
    os.environ["JAVA_HOME"] = str(java_home(Path(tempfile.gettempdir()) / f"broker-java-{os.getuid()}"))
    # Else Spark's own Python processes are whatever `python3` is. A packed environment names its own.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # It tells of every connection that it closes.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not master.startswith("local"):
        _bring_package(session)
    return session


def _bring_package(session: SparkSession) -> None:
    """The cluster's machines have the libraries, but not this package, or another version of it."""
    scratch = tempfile.mkdtemp(prefix="broker-package-")
    # Workers fetch it when they start, which may be at any time.
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    session.sparkContext.addPyFile(shutil.make_archive(f"{scratch}/package", "zip", TOP, "spark_analytics"))
