"""PostgreSQL as Spark reads it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, In, LessThan, StringStartsWith

from channels_app.models import DeliveryJob, Message
from spark_analytics import snapshot
from spark_analytics.snapshot import offered, served, shared, waiting
from spark_analytics.source import NoSnapshot, PostgresReader, Reading, ranges, read, readers_on
from spark_analytics.tables import JOB, MESSAGE
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.spark_analytics.exporting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def jobs(database_url: str) -> list[DeliveryJob]:
    consumer, producer = make_consumer(make_channel()), make_producer()
    return [make_job(consumer, producer, payload=b"x" * (n + 1)) for n in range(7)]


def test_rows_come_as_they_are(spark: SparkSession, database_url: str, jobs: list[DeliveryJob]) -> None:
    rows = read(spark, Reading(database_url, JOB, 0)).orderBy("id").collect()
    assert [row.id for row in rows] == [job.pk for job in jobs]
    assert [row.bytes for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert rows[0].reason is None
    assert rows[0].created_at.replace(tzinfo=UTC) == jobs[0].created_at


def test_a_range_of_ids_is_all_that_is_read(spark: SparkSession, database_url: str, jobs: list[DeliveryJob]) -> None:
    rows = read(spark, Reading(database_url, JOB, jobs[2].pk, jobs[4].pk)).collect()
    assert {row.id for row in rows} == {job.pk for job in jobs[2:5]}


def test_an_empty_table_is_no_rows(spark: SparkSession, database_url: str) -> None:
    assert read(spark, Reading(database_url, MESSAGE, 1)).count() == 0


def test_filters_are_answered_by_postgresql(spark: SparkSession, database_url: str, jobs: list[DeliveryJob]) -> None:
    Message.objects.filter(pk=jobs[3].message_id).update(message_id="it's")
    messages = read(spark, Reading(database_url, MESSAGE, 0))
    assert [row.id for row in messages.where('message_id = "it\'s"').collect()] == [jobs[3].message_id]
    assert messages.where("received_at < timestamp'2020-01-01'").count() == 0
    assert messages.where("received_at > timestamp'2020-01-01' and bytes in (2, 3) and priority = 0").count() == 2
    assert messages.where("message_id > 'm4' and expunged_at is null").count() == 2


def test_what_is_pushed_down_stands_in_the_query() -> None:

    reader = PostgresReader(Reading("", JOB, 0, 9), 1)
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    left = StringStartsWith(("reason",), "http"), GreaterThan(("reason",), "a"), EqualTo(("reason",), "a\0")
    pushed = EqualTo(("reason",), "o'k"), In(("status",), (1, 2)), LessThan(("accepted_at",), moment)
    assert list(reader.pushFilters([*pushed, *left])) == list(left)
    assert reader.conditions == [
        "j.reason = 'o''k'",
        "j.status IN (1, 2)",
        "m.received_at < '2026-01-02T00:00:00+00:00'::timestamptz",
    ]


@pytest.mark.parametrize(("cores", "readers"), [(0, 1), (1, 1), (2, 1), (8, 4), (64, 8)])
def test_half_of_the_cores_read_and_not_many_of_them(cores: int, readers: int) -> None:
    assert readers_on(cores) == readers


def test_partitions_agree_on_a_moment_while_rows_change(
    spark: SparkSession, database_url: str, jobs: list[DeliveryJob]
) -> None:
    """The first and the last row are always changed together, and are read by different partitions."""
    first, last, readers = jobs[0].pk, jobs[-1].pk, 2
    assert len(ranges(first, last, readers)) == readers
    with changing(database_url), shared(database_url, readers=readers) as label:
        rows = read(spark, Reading(database_url, JOB, first, last, label), readers).collect()
    assert len(rows) == len(jobs)
    assert len({row.priority for row in rows}) == 1
    assert rows[0].priority > 0


def test_a_snapshot_is_let_go_while_its_readers_read(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than the test waits: it is not let go because time is up.
    monkeypatch.setattr(snapshot, "HELD_SECONDS", 600.0)
    asked = "SELECT split_part(application_name, '=', 2), state FROM pg_stat_activity WHERE application_name LIKE %s"
    with psycopg.connect(database_url, autocommit=True) as reader, shared(database_url, readers=1) as label:

        def holder() -> tuple[str, str]:
            with psycopg.connect(database_url, autocommit=True) as watcher:
                return watcher.execute(asked, [offered(label, "%")]).fetchone() or ("", "")

        def says(name: str) -> None:
            reader.execute("SELECT set_config('application_name', %s, false)", [name])

        says(waiting(label, 0))
        wait_until(lambda: holder()[1] == "idle in transaction")
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute(f"SET TRANSACTION SNAPSHOT '{holder()[0]}'")
        says(served(label, 0))
        wait_until(lambda: holder()[1] == "idle")
        assert reader.info.transaction_status == TransactionStatus.INTRANS


def test_who_cannot_hold_a_snapshot_says_so_before_any_reader_waits(database_url: str) -> None:
    with pytest.raises(psycopg.OperationalError), shared(make_conninfo(database_url, dbname="nowhere"), readers=1):
        pytest.fail("readers would wait for what never comes")


def test_a_snapshot_that_is_lost_is_the_cause_that_is_told(database_url: str) -> None:
    with pytest.raises(psycopg.OperationalError):
        lose_a_snapshot(database_url)


def lose_a_snapshot(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as reader, shared(url, readers=1) as label:
        reader.execute("SELECT set_config('application_name', %s, false)", [waiting(label, 0)])
        wait_until(lambda: bool(ended(reader, offered(label, "%"))))
        raise NoSnapshot


def ended(connection: psycopg.Connection, names: str) -> list[tuple[bool]]:
    asked = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s"
    return connection.execute(asked, [names]).fetchall()


@contextmanager
def changing(url: str) -> Iterator[None]:
    done = threading.Event()
    changer = threading.Thread(target=_change, args=(url, done))
    changer.start()
    yield
    done.set()
    changer.join()


def _change(url: str, done: threading.Event) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while not done.is_set():
            connection.execute("UPDATE delivery_job SET priority = priority + 1")
