"""A real Spark session, once for each process that runs tests."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_analytics.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("tests")
    yield session
    session.stop()
