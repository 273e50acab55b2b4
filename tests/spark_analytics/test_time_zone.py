"""A machine's own time zone is nothing to a report, not even in the hour that it has twice."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message
from spark_analytics.settings import Settings
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db(transaction=True)
# In New York it is 01:30 at the first, and 01:30 again at the second.
TWICE = tuple(datetime(2026, 11, 1, hour, 30, tzinfo=UTC) for hour in (5, 6))
HOURS = ["--from", "2026-11-01T04:00Z", "--to", "2026-11-01T08:00Z", "--compare"]


def make_hours() -> None:
    consumer, producer = make_consumer(make_channel("orders")), make_producer()
    for number, at in enumerate(TWICE):
        job = make_job(consumer, producer, payload=b"x" * (number + 1), status=JobStatus.DELIVERED, attempt=1)
        DeliveryAttempt.objects.create(job=job, attempt=1, duration_ms=5, finished_at=at)
        later = at + timedelta(seconds=number + 1)
        DeliveryJob.objects.filter(pk=job.pk).update(created_at=at, status_changed_at=later)
        Message.objects.filter(pk=job.message_id).update(received_at=at)
        make_scheduled(consumer.channel, producer, f"later {number}", scheduled_for=at)


def report_in(zone: str, lake: Settings, directory: Path) -> subprocess.Popen[bytes]:
    told = {"TZ": zone, "DATABASE_URL": lake.database_url, "LAKE_URL": lake.lake_url}
    words = [sys.executable, "-m", "spark_analytics", "report", *HOURS, "--out", str(directory)]
    return subprocess.Popen(words, env=os.environ | told)


def figures(directory: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((directory / "report.json").read_text())["reports"]
    return told


def test_an_hour_that_a_machine_has_twice_is_two(settings_of_lake: Settings, tmp_path: Path) -> None:
    make_hours()
    zones = {"UTC": tmp_path / "utc", "America/New_York": tmp_path / "new-york"}
    children = [report_in(zone, settings_of_lake, directory) for zone, directory in zones.items()]
    assert [child.wait() for child in children] == [0, 0]
    utc, new_york = map(figures, zones.values())
    assert new_york == utc
    hours = ["2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"]
    for name, counted in (("throughput", "messages"), ("latency", "delivered"), ("scheduler_lag", "messages")):
        assert [(row["hour"], row[counted]) for row in utc[name]["rows"]] == [(hour, 1) for hour in hours]
