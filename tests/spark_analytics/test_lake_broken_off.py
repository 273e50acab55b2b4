"""Exports that fail or are killed, and two at once: nothing is half there, and nothing twice."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob, Message
from reports_app.models import LakeKind, LakeSlice
from spark_analytics.lake import plan
from spark_analytics.lake.export import LOCK, ExportRuns, alone, export
from spark_analytics.settings import Settings
from spark_analytics.troubles import INTERRUPTED
from spark_analytics.verify import Found
from tests.spark_analytics.exporting import Export, export_in_a_child, lock_is_held, wait_until, waiting
from tests.spark_analytics.odd_rows import ALL_EQUAL, found, make_history, paths

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_that_fails_while_two_slices_are_under_way_leaves_no_gap(
    spark: SparkSession, lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the row of the second slice is refused, while the third is read; then the reading of the third fails."""
    make_history()
    monkeypatch.setattr(plan, "SLICE_IDS", 5)
    first = Message.objects.earliest("pk").pk + 4
    with refusing(lake, f"kind > 1 OR last_id <= {first}"), pytest.raises(psycopg.errors.CheckViolation):
        bring()
    assert [one.last_id for one in LakeSlice.objects.all()] == [first]
    with unreadable(lake, f"id > {first + 5}") as broken, pytest.raises(Exception, match="division by zero"):
        list(export(spark, broken, everything=True, now=timezone.now()))
    assert [one.last_id for one in LakeSlice.objects.order_by("pk")] == [first, first + 5]
    bring()
    assert {one for several in found(spark, lake).values() for one in several} == {Found.EQUAL}


@contextmanager
def refusing(lake: Settings, unless: str) -> Iterator[None]:
    with psycopg.connect(lake.database_url, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE lake_slice ADD CONSTRAINT refused CHECK ({unless})")
        try:
            yield
        finally:
            connection.execute("ALTER TABLE lake_slice DROP CONSTRAINT refused")


@contextmanager
def unreadable(lake: Settings, where: str) -> Iterator[Settings]:
    """The same lake, read through a view that fails at these messages."""
    # Of constants PostgreSQL would find out before it has seen a row.
    readable = f"CASE WHEN {where} THEN 1 / (id - id) = 1 ELSE true END"
    with psycopg.connect(lake.database_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA broken")
        connection.execute(f"CREATE VIEW broken.message AS SELECT * FROM public.message WHERE {readable}")  # noqa: S608
        try:
            yield replace(lake, reads_url=make_conninfo(lake.reads_url, options="-csearch_path=broken,public"))
        finally:
            connection.execute("DROP SCHEMA broken CASCADE")


def test_a_killed_export_leaves_no_half_slice(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """The first slice waits for its row, and the second is being written."""
    make_history()
    folder = Path(lake.lake_url, "message")
    with killed_at_the_commit(lake, slice_ids=5):
        wait_until(lambda: len(list(folder.glob("*"))) == 2)
    assert not LakeSlice.objects.exists()
    bring()
    assert found(spark, lake) == ALL_EQUAL
    bring(now=timezone.now() + timedelta(hours=2))
    assert {path.name for path in folder.glob("*")} == {paths()[LakeKind.MESSAGE, 1]}


def test_an_export_that_is_killed_over_a_changed_slice_leaves_the_old_one(
    spark: SparkSession, lake: Settings, bring: Export
) -> None:
    make_history()
    bring()
    before = paths()
    DeliveryJob.objects.update(priority=4)
    with killed_at_the_commit(lake):
        pass
    assert paths() == before
    assert found(spark, lake)["job"] == [Found.CHANGED]
    bring()
    assert found(spark, lake) == ALL_EQUAL


def test_of_two_processes_that_export_at_once_one_is_refused(spark: SparkSession, lake: Settings) -> None:
    make_history()
    with about_to_commit(lake) as first:
        assert export_in_a_child(lake).wait() == 1
    assert first.wait() == 0
    assert found(spark, lake) == ALL_EQUAL
    assert LakeSlice.objects.get(kind=LakeKind.JOB).row_count == DeliveryJob.objects.count()


def test_one_that_is_interrupted_ends_without_a_stack(lake: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    make_history()
    with about_to_commit(lake) as child:
        child.send_signal(signal.SIGINT)
        assert child.wait() == INTERRUPTED
    assert "Traceback" not in capfd.readouterr().err
    assert not LakeSlice.objects.exists()


@contextmanager
def about_to_commit(lake: Settings, **told: int) -> Iterator[subprocess.Popen[bytes]]:
    """When all is written and nothing is committed: what would make it live has to wait."""
    with psycopg.connect(lake.database_url) as blocker:
        blocker.execute("LOCK TABLE lake_slice IN SHARE MODE")
        child = export_in_a_child(lake, **told)
        wait_until(lambda: bool(waiting(lake)))
        yield child


@contextmanager
def killed_at_the_commit(lake: Settings, **told: int) -> Iterator[None]:
    with about_to_commit(lake, **told) as child:
        yield
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with psycopg.connect(lake.database_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [waiting(lake)[0]])
    wait_until(lambda: not lock_is_held(lake))


def test_only_one_exports_at_a_time(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    first = export(spark, lake, everything=True, now=timezone.now())
    next(first)
    with pytest.raises(ExportRuns):
        bring()
    list(first)
    assert found(spark, lake) == ALL_EQUAL


def test_the_next_may_begin_as_soon_as_one_has_ended(lake: Settings) -> None:
    with psycopg.connect(lake.database_url, autocommit=True) as another:
        for _ in range(300):
            with alone(lake.database_url):
                pass
            assert another.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() == (True,)
            another.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
