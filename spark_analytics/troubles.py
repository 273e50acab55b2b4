"""What may go wrong around a report besides what we refuse: files, Spark and its Java, the drivers of the databases."""

import adbc_driver_manager
import psycopg
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from spark_analytics.errors import ReportError

TROUBLES = (ReportError, OSError, psycopg.Error, adbc_driver_manager.Error, PySparkException, Py4JError)
# After a Ctrl-C; a shell counts so too.
INTERRUPTED = 130
# Which call of ours it was says nothing to whoever asked.
_BRIDGE = "An error occurred while calling"


def in_a_line(error: Exception) -> str:
    """The first that says what it was: a stack of Java's may follow."""
    lines = [line.strip(" \t:") for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith(_BRIDGE)), type(error).__name__)
