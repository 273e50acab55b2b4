"""A real Spark session, once for each process that runs tests, and the address of the tests' database."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from spark_analytics.lake.export import Exported, export
from spark_analytics.session import open_session
from spark_analytics.settings import Settings
from tests.spark_analytics.exporting import Export

# Many small questions: Java's second compiler would cost more than it saves.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
# Else the process would run all its other tests behind those of its neighbours.
os.environ.setdefault("SPARK_NICENESS", "0")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("tests")
    yield session
    session.stop()


@pytest.fixture
def database_url(transactional_db: None) -> str:
    told = connection.get_connection_params()
    return make_conninfo(
        **{name: told[name] for name in ("dbname", "user", "password", "host", "port") if told.get(name)}
    )


@pytest.fixture
def settings_of_lake(database_url: str, tmp_path: Path) -> Settings:
    """A lake of the test's own, at a path that is not easy."""
    return Settings(database_url, database_url, str(tmp_path / "the lake"), payloads=False)


@pytest.fixture
def lake(settings_of_lake: Settings) -> Settings:
    return settings_of_lake


@pytest.fixture
def bring(spark: SparkSession, lake: Settings) -> Export:
    """An export of everything there is, unless said otherwise."""

    def run(*, everything: bool = True, now: datetime | None = None) -> list[Exported]:
        return list(export(spark, lake, everything=everything, now=now or timezone.now()))

    return run
