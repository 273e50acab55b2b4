"""A report from a wish to its files, with a real Spark on the real database."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone
from pyspark.sql import SparkSession
from structlog.testing import capture_logs

from channels_app.models import DeliveryJob, JobStatus
from channels_app.models import Progress as Mark
from reports_app import night, services, tasks
from reports_app.models import Report, ReportStatus
from spark_analytics.arguments import asked_in
from spark_analytics.errors import NoDatabase, UnknownChannel
from spark_analytics.gathered import check
from spark_analytics.lake.export import LOCK
from spark_analytics.progress import Progress
from spark_analytics.run import run
from spark_analytics.settings import from_environment
from tests.acceptance.servers import wait_until
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.traffic import make_attempt, make_job, make_message
from tests.dlq_app.letters import make_dead
from tests.spark_analytics.conftest import spark

__all__ = ["spark"]

pytestmark = pytest.mark.django_db(transaction=True)

# A worker that had a session, and whose Java is killed before the report.
WORKER = """
import os, signal, django
django.setup()
from pyspark import SparkContext
from reports_app import tasks
from spark_analytics.session import open_session
open_session()
os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
tasks.make_report()
"""
END_EXPORT = """
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND objid = %s AND datname = current_database()
"""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> None:
    """Spark reads the tests' own database."""
    name = connection.settings_dict["NAME"]
    base, _, query = os.environ["DATABASE_URL"].partition("?")
    url = f"{base.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("LAKE_URL", str(tmp_path / "lake"))
    settings.REPORTS_DIR = tmp_path / "reports"


@pytest.fixture
def traffic(database: None) -> None:
    """Three messages delivered, one dead."""
    channel, producer = make_channel("or-ders~1"), make_producer("shop")
    consumer = make_consumer(channel, "billing")
    for number in range(3):
        job = make_job(make_message(channel, producer, f"m-{number}"), consumer, attempt=1)
        make_attempt(job, 1)
        DeliveryJob.objects.filter(pk=job.pk).update(status=JobStatus.DELIVERED, status_changed_at=timezone.now())
    make_dead(consumer, producer, reason="timeout")


def ask(**values: Any) -> Report:
    now = timezone.now()
    return services.ask_for(start=now - timedelta(hours=2), end=now + timedelta(hours=1), by="ada", **values)


def made(report: Report) -> dict[str, Any]:
    tasks.make_report()
    report.refresh_from_db()
    assert report.status == ReportStatus.DONE, report.error
    figures: dict[str, Any] = json.loads((report.directory / "report.json").read_text())["reports"]
    return figures


def test_a_report_has_the_figures_of_the_database(spark: SparkSession, traffic: None) -> None:
    figures = made(ask(channels=["or-ders~1"], compare=True))
    [row] = figures["delivery"]["rows"]
    assert (row["channel"], row["consumer"], row["delivered"], row["dead"]) == ("or-ders~1", "billing", 3, 1)
    assert sum(row["messages"] for row in figures["throughput"]["rows"]) == 4
    assert figures["delivery"]["before"] == []
    [letter] = figures["dead_letters"]["rows"]
    assert (letter["reason"], letter["entered"]) == ("timeout", 1)


def test_a_warm_session_makes_one_after_another_and_an_empty_broker_has_a_report(
    spark: SparkSession, database: None
) -> None:
    first, second = ask(), ask()
    assert made(first)["throughput"]["rows"] == []
    assert made(second)["latency"]["rows"] == []
    assert (second.directory / "report.html").exists()


def test_a_worker_whose_java_died_makes_the_next_report(traffic: None, tmp_path: Any) -> None:
    report = ask()
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        env=os.environ | {"BROKER_DATA_DIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    report.refresh_from_db()
    assert report.status == ReportStatus.DONE, report.error + done.stderr


def test_the_page_is_shown_in_the_browser_of_whoever_asks_for_it(database: None, tmp_path: Any) -> None:
    browser, shown, out = tmp_path / "browser", tmp_path / "shown", tmp_path / "out"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{shown}"\n')
    browser.chmod(0o700)
    subprocess.run(
        [sys.executable, "-m", "broker_project.cli", "report", "--open", "--out", str(out)],
        env=os.environ | {"BROKER_DATA_DIR": str(tmp_path), "BROWSER": str(browser)}, check=True,
    )  # fmt: skip
    assert shown.read_text() == (out / "report.html").as_uri()


def test_an_export_that_fails_is_tried_again_while_the_nights_report_goes_on(
    spark: SparkSession, traffic: None, settings: Any
) -> None:
    now = timezone.now()
    settings.REPORT_NIGHTLY_AT = f"{now - timedelta(hours=1):%H:%M}"
    report = ask(night=now.date())
    with ThreadPoolExecutor(1) as pool, psycopg.connect(os.environ["DATABASE_URL"]) as writer:
        # The export waits for who is writing.
        writer.execute("LOCK TABLE message IN ROW EXCLUSIVE MODE")
        broken = pool.submit(_break_export, report)
        assert sum(row["messages"] for row in made(report)["throughput"]["rows"]) == 4
        broken.result()

    assert not night.export_is_due(timezone.now())
    Mark.objects.filter(name=night.TRIED).update(at=timezone.now() - timedelta(minutes=6))
    assert night.export_is_due(timezone.now())
    tasks.export_night()
    assert Mark.objects.filter(name=night.EXPORTED, at__gte=now).exists()
    assert not night.export_is_due(timezone.now())


def test_an_export_that_meets_another_is_logged_in_words(spark: SparkSession, database: None) -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as other, capture_logs() as logs:
        other.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        assert not night.export(lambda _share, _words: None)
    [told] = [log for log in logs if log["event"] == "lake.export_failed"]
    assert (told["log_level"], told["error"]) == ("warning", "Another export is running.")
    assert "exc_info" not in told


def test_an_export_that_fails_unawares_is_logged_with_where(
    spark: SparkSession, database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://broker@127.0.0.1:9/broker")
    with capture_logs() as logs:
        assert not night.export(lambda _share, _words: None)
    [told] = [log for log in logs if log["event"] == "lake.export_failed"]
    assert (told["log_level"], told["exc_info"]) == ("error", True)


def _break_export(report: Report) -> None:
    """As soon as its page tells of it."""
    try:
        told = Report.objects.filter(pk=report.pk, stage="bringing history into the lake")
        wait_until(told.exists, seconds=120)
        with connection.cursor() as cursor:
            wait_until(lambda: ended(cursor), seconds=120)
    finally:
        connection.close()


def ended(cursor: Any) -> bool:
    cursor.execute(END_EXPORT, [LOCK])
    return bool(cursor.rowcount)


def test_progress_goes_up_to_the_end_and_tells_two_periods_apart(
    spark: SparkSession, traffic: None, tmp_path: Any
) -> None:
    told: list[Progress] = []
    run(asked_in(ask().asked), tmp_path / "out", told.append, compares=True)
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    words = [progress.words for progress in told]
    assert words.index("throughput") < words.index("throughput, the period before") < words.index("drawing")


def test_what_is_wrong_is_said_before_spark_is_asked(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownChannel, match="no channel nobody"):
        check(from_environment(), ("nobody",))
    monkeypatch.setenv("DATABASE_URL", "postgresql://broker@127.0.0.1:9/broker")
    with pytest.raises(NoDatabase, match="broker up"):
        check(from_environment(), ())
