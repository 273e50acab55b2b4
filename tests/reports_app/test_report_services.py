"""Reports are asked for, made one at a time, failed when their worker is lost, and removed when they are old."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from structlog.testing import capture_logs

from broker_project.lib.errors import BrokerError
from channels_app.models import Progress
from reports_app import making, night, services, spark, tasks
from reports_app.models import Report, ReportStatus
from tests.acceptance.servers import wait_until
from tests.channels_app.registry import make_channel
from tests.dlq_app.test_races import waiting

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 1, tzinfo=UTC)
END = START + timedelta(days=1)
NIGHT = datetime(2026, 11, 2, 3, 5, tzinfo=UTC)


def ask(**values: Any) -> Report:
    return services.ask_for(**{"start": START, "end": END, "by": "ada", **values})


def running(**values: Any) -> Report:
    report = ask()
    assert Report.objects.filter(pk=report.pk).begin()
    Report.objects.filter(pk=report.pk).update(**values)
    return report


def status(report: Report) -> str:
    report.refresh_from_db()
    return report.status


def test_a_wish_is_kept_as_it_was_asked() -> None:
    make_channel("orders")
    report = ask(channels=["orders"], compare=True, sla_seconds=5)
    assert report.asked == {
        "from": "2026-11-01T00:00:00+00:00", "to": "2026-11-02T00:00:00+00:00",
        "channels": ["orders"], "compare": True, "slaSeconds": 5,
    }  # fmt: skip
    assert (report.status, report.progress, report.asked_by) == (ReportStatus.QUEUED, 0.0, "ada")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"end": START}, "must come after"),
        ({"end": START + timedelta(days=401)}, "400 days"),
        ({"channels": ["nobody"]}, "no channel nobody"),
        ({"sla_seconds": 0}, "seconds"),
        ({"sla_seconds": float("nan")}, "seconds"),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_no_row(values: dict[str, Any], words: str) -> None:
    with pytest.raises(BrokerError, match=words):
        ask(**values)
    assert not Report.objects.exists()


def test_only_one_runs_at_a_time_and_the_other_waits() -> None:
    running()
    second = ask()
    assert not Report.objects.filter(pk=second.pk).begin()
    assert not making.make(second)
    assert status(second) == ReportStatus.QUEUED


def test_a_run_whose_worker_is_silent_is_failed_and_can_be_asked_for_again() -> None:
    lost = running(seen_at=timezone.now() - timedelta(minutes=2))
    tasks.sweep_reports()
    assert status(lost) == ReportStatus.FAILED
    assert "gone" in lost.error
    services.ask_again(report=lost, by="bob")
    assert status(lost) == ReportStatus.QUEUED
    assert (lost.asked_by, lost.error, lost.finished_at) == ("bob", "", None)


def test_a_run_that_gives_signs_is_left_alone() -> None:
    alive = running()
    tasks.sweep_reports()
    assert status(alive) == ReportStatus.RUNNING


def test_what_has_not_failed_cannot_be_asked_for_again() -> None:
    with pytest.raises(BrokerError, match="failed"):
        services.ask_again(report=ask(), by="bob")


def test_a_report_that_cannot_be_made_says_why(settings: Any) -> None:
    report = ask()
    # As if it had been written by somebody else.
    Report.objects.filter(pk=report.pk).update(asked={**report.asked, "to": report.asked["from"]})
    report.refresh_from_db()
    assert making.make(report)
    assert status(report) == ReportStatus.FAILED
    assert "report ends after it begins" in report.error


def test_the_log_tells_no_report_done_that_was_given_up_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    report = ask()
    rows = Report.objects.filter(pk=report.pk)
    monkeypatch.setattr(spark, "make", lambda *_asked: rows.fail("lost"))
    with capture_logs() as logs:
        assert making.make(report)
    assert status(report) == ReportStatus.FAILED
    assert [line["event"] for line in logs if line["event"].startswith("report.")] == ["report.lost"]


def test_a_worker_that_was_given_up_does_not_end_the_run_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    report = ask()
    rows = Report.objects.filter(pk=report.pk)

    def outrun(*_asked: object) -> None:
        rows.fail("lost")
        services.ask_again(report=report, by="bob")
        assert rows.begin()
        rows.update(started_at=timezone.now() + timedelta(minutes=2))

    monkeypatch.setattr(spark, "make", outrun)
    assert making.make(report)
    assert status(report) == ReportStatus.RUNNING


def test_the_night_asks_once_for_the_day_before(settings: Any) -> None:
    settings.REPORT_NIGHTLY_AT = "03:00"
    report = services.ask_nightly(NIGHT)
    assert report
    assert (report.asked["from"], report.asked["to"]) == ("2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00")
    assert report.asked["compare"]
    assert services.ask_nightly(NIGHT + timedelta(minutes=5)) is None
    assert services.ask_nightly(NIGHT + timedelta(days=1)) is not None


def test_a_night_that_begins_late_lasts_over_midnight(settings: Any) -> None:
    settings.REPORT_NIGHTLY_AT = "23:30"
    late = NIGHT.replace(hour=0, minute=10)
    report = services.ask_nightly(late)
    assert report
    assert (report.night, report.asked["to"]) == (datetime(2026, 11, 1, tzinfo=UTC).date(), "2026-11-01T00:00:00+00:00")


@pytest.mark.django_db(transaction=True)
def test_of_two_beats_one_asks_for_the_night(settings: Any) -> None:
    settings.REPORT_NIGHTLY_AT = "03:00"
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert services.ask_nightly(NIGHT)
            second = pool.submit(_ask_and_leave)
            wait_until(lambda: waiting() > 0, seconds=30)
        assert second.result() is None
    assert Report.objects.count() == 1


def _ask_and_leave() -> Report | None:
    try:
        return services.ask_nightly(NIGHT)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("marks", "after", "is_due"),
    [
        ({}, timedelta(hours=1), False),
        ({night.TRIED: timedelta(minutes=1)}, timedelta(minutes=3), False),
        ({night.TRIED: timedelta(minutes=1)}, timedelta(minutes=10), True),
        ({night.TRIED: timedelta(minutes=1)}, timedelta(hours=7), False),
        ({night.TRIED: timedelta(minutes=1), night.EXPORTED: timedelta(minutes=2)}, timedelta(minutes=10), False),
        ({night.TRIED: timedelta(minutes=1), night.EXPORTED: timedelta(days=-1)}, timedelta(minutes=10), True),
    ],
)
def test_an_export_is_due_again_while_it_was_tried_and_is_not_done(
    settings: Any, marks: dict[str, timedelta], after: timedelta, is_due: bool
) -> None:
    settings.REPORT_NIGHTLY_AT = "23:00"
    begins = datetime(2026, 11, 2, 23, tzinfo=UTC)
    for name, at in marks.items():
        Progress.objects.create(name=name, at=begins + at)
    assert night.export_is_due(begins + after) is is_due


@pytest.mark.parametrize(
    ("at", "now"),
    [("", NIGHT), ("03:30", NIGHT), ("01:00", NIGHT)],
)
def test_at_another_time_the_night_asks_for_nothing(settings: Any, at: str, now: datetime) -> None:
    settings.REPORT_NIGHTLY_AT = at
    assert services.ask_nightly(now) is None


def test_without_a_worker_the_night_asks_for_nothing(settings: Any) -> None:
    settings.REPORT_NIGHTLY_AT = f"{timezone.now():%H:%M}"
    tasks.sweep_reports()
    assert not Report.objects.exists()
    Progress.objects.mark("reports")
    tasks.sweep_reports()
    assert Report.objects.count() == 1


def test_an_old_report_goes_with_its_files_and_a_young_one_stays(settings: Any, tmp_path: Any) -> None:
    settings.REPORTS_DIR, settings.REPORT_RETENTION_DAYS = tmp_path, 10
    old, young = running(), ask()
    Report.objects.filter(pk=old.pk).finish()
    Report.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=11))
    for report in (old, young):
        report.directory.mkdir()
        (report.directory / "report.html").write_text("x")
    tasks.remove_old_reports()
    assert list(Report.objects.all()) == [young]
    assert [path.name for path in tmp_path.iterdir()] == [young.public_id]
