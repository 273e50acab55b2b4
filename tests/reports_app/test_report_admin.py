"""Staff ask for reports, watch them, read them and take their files: each only with the permission for it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Progress
from reports_app import services
from reports_app.models import Report, ReportStatus
from tests.channels_app.registry import make_channel
from tests.channels_app.staff import history, log_in, page, pages

pytestmark = pytest.mark.django_db

NEW = {"start": "2026-11-01T00:00", "end": "2026-11-02T00:00", "channels": "", "sla_seconds": "60"}
START, END = datetime(2026, 10, 19, tzinfo=UTC), datetime(2026, 11, 18, tzinfo=UTC)
MORNING = START + timedelta(hours=6, minutes=30)
MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def report() -> Report:
    now = timezone.now()
    return services.ask_for(start=now - timedelta(hours=1), end=now, by="ada")


@pytest.fixture
def done(report: Report, settings: Any, tmp_path: Any) -> Report:
    settings.REPORTS_DIR = tmp_path
    rows = Report.objects.filter(pk=report.pk)
    rows.begin()
    rows.finish()
    report.refresh_from_db()
    report.directory.mkdir()
    (report.directory / "report.html").write_text("<p>the page</p>")
    (report.directory / "sla.csv").write_text("a,b\n")
    (report.directory / "secret.key").write_text("not yours")
    return report


def file(report: Report, name: str) -> str:
    return reverse("admin:reports_app_report_file", args=[report.pk, name])


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ("", ["mine", "his", "of the night"]),
        ("by=night", ["of the night"]),
        ("by=people", ["mine", "his"]),
        ("by=me", ["mine"]),
        ("status__exact=FAILED", ["his"]),
    ],
)
def test_the_list_is_narrowed_by_how_they_ended_and_by_who_asked(chosen: str, found: list[str]) -> None:
    staff, now = log_in("view_report"), timezone.now()
    me = User.objects.get().get_username()
    start = now - timedelta(hours=1)
    reports = {
        "mine": services.ask_for(start=start, end=now, by=me),
        "his": services.ask_for(start=start, end=now, by="bob"),
        "of the night": services.ask_for(start=start, end=now, by=services.NIGHT, night=now.date()),
    }
    his = Report.objects.filter(pk=reports["his"].pk)
    his.begin()
    his.fail("No Java")
    shown = staff.get(f"{pages(Report)}?{chosen}").text
    assert [name for name, report in reports.items() if page(report) in shown] == found


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "Report of 2026-10-19 to 2026-11-18"),
        ({"start": MORNING}, "Report of 2026-10-19 06:30 to 2026-11-18 00:00"),
        ({"channels": ["a", "b"]}, "Report of 2026-10-19 to 2026-11-18: a, b"),
        ({"channels": list("abcde")}, "Report of 2026-10-19 to 2026-11-18: a, b, c and 2 more"),
        ({"night": END.date()}, "Nightly report of 2026-11-17"),
    ],
)
def test_a_report_is_named_in_words(values: dict[str, Any], words: str) -> None:
    for name in values.get("channels", []):
        make_channel(name)
    report = services.ask_for(**{"start": START, "end": END, "by": "ada", **values})
    staff = log_in("view_report")
    assert words in staff.get(page(report)).text
    assert report.title in staff.get(pages(Report)).text


def test_progress_is_shown_of_those_alone_that_are_made(report: Report) -> None:
    staff, rows = log_in("view_report"), Report.objects.filter(pk=report.pk)
    rows.begin()
    rows.advance(share=0.42, stage="latency")
    assert "42 %, latency" in staff.get(pages(Report)).text
    rows.finish()
    for address in (pages(Report), page(report)):
        assert "100 %" not in staff.get(address).text


def test_what_was_asked_for_is_told_in_words() -> None:
    make_channel("orders")
    report = services.ask_for(start=START, end=END, channels=["orders"], compare=True, sla_seconds=0.5, by="ada")
    shown = log_in("view_report").get(page(report)).text
    for words in ("Channels: orders", "Compared with the period before", "within 0.5 s", "2026-10-19 to 2026-11-18"):
        assert words in shown
    assert "slaSeconds" not in shown


def test_an_error_is_shown_where_there_is_one(report: Report) -> None:
    staff, rows = log_in("view_report"), Report.objects.filter(pk=report.pk)
    assert "Error" not in labels(staff.get(page(report)))
    rows.begin()
    rows.fail("No Java")
    assert "Error" in labels(staff.get(page(report)))


def labels(answer: Any) -> list[str]:
    found = re.findall(r"<label[^>]*>(.*?)</label>", answer.text, re.DOTALL)
    return [text.strip().rstrip(":") for text in found]


def test_the_address_where_django_adds_a_row_leads_to_where_a_report_is_asked_for() -> None:
    answer = log_in("view_report", "add_report").get(pages(Report, "add"))
    assert (answer.status_code, answer["Location"]) == (302, pages(Report, "new"))


def test_the_page_that_asks_for_a_report_has_its_own_name_in_the_way_to_it() -> None:
    heading = log_in("view_report", "add_report").get(pages(Report, "new")).text.partition("<h1")[2]
    assert "New report" in heading.partition("</h1>")[0]


def test_staff_ask_for_a_report_and_see_it_wait() -> None:
    staff = log_in("view_report", "add_report")
    answer = staff.post(pages(Report, "new"), {**NEW, "compare": "on"}, follow=True)
    report = Report.objects.get()
    assert report.asked["compare"]
    assert report.asked["from"] == "2026-11-01T00:00:00+00:00"
    assert "waits for its turn" in answer.text
    assert history(report) == ["Asked for"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"end": "2026-11-01T00:00"}, "must come after"),
        ({"start": "yesterday"}, "no time"),
        ({"channels": MARKUP}, "There is no channel &lt;script&gt;"),
        ({"sla_seconds": "-1"}, "greater than or equal"),
        ({"sla_seconds": "nan"}, "Enter a number"),
        ({"start": ""}, "required"),
    ],
)
def test_what_cannot_be_asked_is_said_on_the_form_and_nothing_is_made(values: dict[str, str], words: str) -> None:
    answer = log_in("view_report", "add_report").post(pages(Report, "new"), {**NEW, **values})
    assert words in answer.text
    assert MARKUP not in answer.text
    assert not Report.objects.exists()


def test_without_the_permission_nobody_asks_or_sees(done: Report) -> None:
    staff = log_in("view_channel")
    lists = (pages(Report), pages(Report, "new"), pages(Report, "add"))
    for address in (*lists, page(done), page(done, "page"), file(done, "sla.csv")):
        assert staff.get(address).status_code == 403
    assert staff.get(page(done, "progress")).status_code == 403
    assert staff.post(page(done, "again")).status_code == 403


def test_who_may_only_look_cannot_ask(done: Report) -> None:
    staff = log_in("view_report")
    assert staff.post(pages(Report, "new"), NEW).status_code == 403
    assert staff.get(pages(Report, "add")).status_code == 403
    assert "New report" not in staff.get(pages(Report)).text
    assert staff.get(page(done, "page")).content == b"<p>the page</p>"


def test_a_stranger_is_sent_to_the_login(client: Any, done: Report) -> None:
    for address in (page(done, "page"), file(done, "sla.csv")):
        assert client.get(address).status_code == 302


def test_a_finished_page_is_shown_in_a_sandbox(done: Report) -> None:
    staff = log_in("view_report")
    shown = staff.get(page(done)).text
    assert f'src="{page(done, "page")}" sandbox="allow-scripts"' in shown
    assert f'href="{page(done, "page")}"' in shown
    answer = staff.get(page(done, "page"))
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"


def test_files_are_downloaded_and_nothing_else_is(done: Report) -> None:
    staff = log_in("view_report")
    answer = staff.get(file(done, "sla.csv"))
    assert b"".join(answer) == b"a,b\n"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sla.csv</a> 4\xa0bytes" in staff.get(page(done)).text
    for name in ("secret.key", "..", "none.csv"):
        assert staff.get(file(done, name)).status_code == 404
    assert staff.get(f"{page(done, 'page')}../files/..%2f..%2fsecret.key").status_code == 404


def test_progress_is_told_while_it_is_made(report: Report) -> None:
    rows = Report.objects.filter(pk=report.pk)
    rows.begin()
    rows.advance(share=0.42, stage="latency")
    told = log_in("view_report").get(page(report, "progress")).json()
    assert told == {"status": "RUNNING", "words": "42 %, latency", "percent": 42, "isOpen": True}


def test_a_failed_report_is_asked_for_again(report: Report) -> None:
    rows = Report.objects.filter(pk=report.pk)
    rows.begin()
    rows.fail(f"No Java: {MARKUP}")
    staff = log_in("view_report", "add_report")
    shown = staff.get(page(report)).text
    assert "Ask for it again" in shown
    assert MARKUP not in shown
    staff.post(page(report, "again"))
    assert Report.objects.get().status == ReportStatus.QUEUED
    assert history(report) == ["Asked for again"]


def test_without_a_worker_the_pages_say_what_to_install(report: Report) -> None:
    staff = log_in("view_report", "add_report")
    addresses = (pages(Report), pages(Report, "new"), page(report))
    assert all("requirements/spark.txt" in staff.get(address).text for address in addresses)
    Progress.objects.mark("reports")
    assert not any("requirements/spark.txt" in staff.get(address).text for address in addresses)


def test_files_that_somebody_removed_are_missed_in_words(done: Report) -> None:
    for path in done.directory.iterdir():
        path.unlink()
    staff = log_in("view_report")
    assert "not here any more" in staff.get(page(done)).text
    assert staff.get(page(done, "page")).status_code == 404
