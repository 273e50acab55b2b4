"""The Spark session: quiet, in UTC, small enough for a laptop; SPARK_MASTER points it at a cluster."""

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_analytics.java import java_home
from spark_analytics.manners import stand_back
from spark_analytics.settings import data_dir, niceness

LOCAL = "local[2]"
HERE = Path(__file__).resolve().parent
TOP = HERE.parent
_OPENING = threading.Lock()
# Java's own choice works beside us, on cores that a laptop has not. If somebody chose, that is it: Java refuses two.
_CHOSEN = re.search(r"-XX:\+Use\w*GC", f"{os.environ.get('JAVA_TOOL_OPTIONS')} {os.environ.get('JDK_JAVA_OPTIONS')}")
_COLLECTOR = () if _CHOSEN else ("-XX:+UseParallelGC",)
# Planning runs much code, each part of it some thousand times: to compile all that as well as can be takes longer than
# it saves. The loops of an export reach these numbers in a second.
JAVA = (
    *_COLLECTOR,
    *("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000", "-XX:Tier4CompileThreshold=150000"),
    "-Duser.timezone=UTC",
    # The file has to be there from the start: what Spark says before it has read a level is about levels.
    f"-Dlog4j2.configurationFile={(HERE / 'log4j2.properties').as_uri()}",
)
# Measured on two cores. Big aggregations with sketches fall back to sorting too soon by default.
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": " ".join(JAVA),
    # Every sort and every table of names takes a page, every task a block: of 32 and 4 MiB, for some kilobytes.
    "spark.buffer.pageSize": "2m",
    "spark.broadcast.blockSize": "128k",
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
    "spark.log.level": "ERROR",
}
# For many queries over some thousand rows each: planning and compiling them takes a good part of their time.
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # A month's files are listed here, not by a job of Spark.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
}
# What belongs to the queries; the rest is of the machine, and spark-submit knows that better.
_AS_SUBMITTED = {key: value for key, value in SETTINGS.items() if key.startswith("spark.sql.")} | {
    "spark.log.level": "ERROR"
}


def open_session(name: str = "broker") -> SparkSession:
    """The one of this process; the first call takes ten seconds and more."""
    # Under spark-submit there is a JVM already, and its words about master, memory and machines win over ours.
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _configured(SparkSession.builder.appName(name), _AS_SUBMITTED).getOrCreate()
    return _opened(name, os.environ.get("SPARK_MASTER") or LOCAL)


def for_small_tables(session: SparkSession) -> SparkSession:
    """Another on the same JVM: what it plans, it plans for reports."""
    beside = session.newSession()
    for key, value in SMALL.items():
        beside.conf.set(key, value)
    return beside


def _opened(name: str, master: str) -> SparkSession:
    with _OPENING:
        if not _works():
            _forget()
        if SparkContext._gateway is None:
            _prepare(master)
        session = _configured(SparkSession.builder.master(master).appName(name), SETTINGS).getOrCreate()
        if not master.startswith("local"):
            _bring_package(session.sparkContext)
    return session


def _prepare(master: str) -> None:
    """What a JVM is started with."""
    os.environ["JAVA_HOME"] = str(java_home(data_dir()))
    # Else Spark's own Python processes are whatever `python3` is. A packed environment names its own.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        stand_back(niceness())
    # It tells of every connection that it closes.
    logging.getLogger("py4j").setLevel(logging.WARNING)


def _works() -> bool:
    """Not if the JVM was killed, or has lost its cluster: PySpark would hand out its session for ever."""
    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is None:
        return True
    try:
        return gateway.proc.poll() is None and (context is None or not context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return False


def _forget() -> None:
    """PySpark keeps the JVM of a process in these, and has no word for a new one."""
    if context := SparkContext._active_spark_context:
        # Else it would be asked to stop, and does not answer.
        context._jsc = None
        context.stop()
    if gateway := SparkContext._gateway:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _configured(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession.Builder:
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


@lru_cache(maxsize=1)
def _bring_package(context: SparkContext) -> None:
    """The cluster's machines have the libraries, but not this package, or another version of it. Once: Spark refuses
    a second file of the same name.
    """
    scratch = tempfile.mkdtemp(prefix="broker-package-")
    # Workers fetch it when they start, which may be at any time.
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    context.addPyFile(shutil.make_archive(f"{scratch}/package", "zip", TOP, "spark_analytics"))
