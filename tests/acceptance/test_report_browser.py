"""A report's page in a real browser with no network, light and dark, on a desk and on a phone; and in the admin."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect
from pyspark.sql import SparkSession

from reports_app import services
from reports_app.models import Report
from spark_analytics.asked import Asked
from spark_analytics.render import write
from spark_analytics.reports import REPORTS
from spark_analytics.run import run
from tests.acceptance.browser import browser_page, chromium
from tests.acceptance.test_admin_browser import admin
from tests.reports_app.test_report_spark import database
from tests.spark_analytics.conftest import spark
from tests.spark_analytics.figures import HOUR, MARKUP, START, all_of_them, heading, throughput

__all__ = ["admin", "browser_page", "chromium", "database", "spark"]

pytestmark = pytest.mark.django_db(transaction=True)

PHONE, DESK = 390, 1280
VIEWS = [("light", DESK), ("dark", DESK), ("light", PHONE), ("dark", PHONE)]
WEEK = timedelta(days=7)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    before = throughput(start=START - 48 * HOUR, factor=2).rows
    first, *others = all_of_them()
    return write(tmp_path / "report", heading(compares=True), [replace(first, before=before), *others])


@pytest.fixture(params=[("light", DESK), ("dark", DESK), ("light", PHONE)], ids=["light", "dark", "phone"])
def opened(request: pytest.FixtureRequest, chromium: Browser, written: Path) -> Iterator[Page]:
    with offline(chromium, written, *request.param) as page:
        yield page


@contextmanager
def offline(chromium: Browser, written: Path, scheme: Any, width: int) -> Iterator[Page]:
    """Any error on the console and any request is a fault."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page, faults = context.new_page(), list[str]()
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("request", lambda sent: None if sent.url.startswith(("file:", "data:")) else faults.append(sent.url))
    page.goto(written.as_uri())
    yield page
    context.close()
    assert faults == []


def test_the_page_draws_its_pictures_without_a_network(opened: Page) -> None:
    expect(opened.locator(".chart svg")).to_have_count(3)
    expect(opened.get_by_role("link", name="Throughput")).to_have_attribute("href", "#throughput")
    expect(opened.locator("#throughput td", has_text=MARKUP).first).to_be_visible()
    expect(opened.locator("#throughput .chart svg text", has_text="<script>").first).to_be_visible()
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.fixture
def of_a_real_run(spark: SparkSession, database: None, tmp_path: Path) -> Path:
    """Two weeks of a made-up broker, read by Spark: the second beside the first."""
    call_command("make_history", "--messages=4000", "--days=14", f"--until={START:%Y-%m-%d}", verbosity=0)
    return run(Asked.between(START - WEEK, START), tmp_path / "run", lambda _progress: None, compares=True)


def test_all_twelve_reports_of_a_real_run_are_drawn_and_have_rows(of_a_real_run: Path, chromium: Browser) -> None:
    for scheme, width in VIEWS:
        with offline(chromium, of_a_real_run, scheme, width) as page:
            expect(page.locator(".chart svg")).to_have_count(len(REPORTS))
            for report in REPORTS:
                section = page.locator(f"#{report.NAME}")
                expect(section.locator("h2")).to_have_text(report.TITLE)
                # What it shows is drawn, not only its axes.
                expect(section.locator(".chart svg .mark-group path[aria-roledescription]").first).to_be_attached()
                expect(section.locator("tbody tr").first).to_be_attached()
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_reader_who_turns_the_lights_off_gets_a_dark_page(opened: Page) -> None:
    expect(opened.locator(".chart svg")).to_have_count(3)
    opened.emulate_media(color_scheme="dark")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    expect(opened.locator("#throughput .chart svg text[fill='#9aa5b4']").first).to_be_visible()
    expect(opened.locator(".chart svg")).to_have_count(3)


def test_staff_read_the_page_in_a_frame_that_cannot_act_for_them(
    admin: Page, written: Path, settings: Any, live_server: Any
) -> None:
    report = services.ask_for(start=START, end=START + HOUR, by="ada")
    rows = Report.objects.filter(pk=report.pk)
    rows.begin()
    rows.finish()
    settings.REPORTS_DIR = written.parent.parent
    written.parent.rename(report.directory)
    admin.goto(re.sub(r"/admin/.*", f"/admin/reports_app/report/{report.pk}/change/", admin.url))
    frame = admin.frame_locator("iframe.report-page")
    expect(frame.locator(".chart svg")).to_have_count(3)
    inside = admin.frames[-1]
    assert inside.evaluate("self.origin") == "null"
    assert (
        inside.evaluate("() => { try { return document.cookie } catch (error) { return error.name } }")
        == "SecurityError"
    )
    with admin.expect_download() as taken:
        admin.get_by_text("Files", exact=True).click()
        admin.get_by_role("link", name="report.json").click()
    assert taken.value.suggested_filename == f"{report.public_id}-report.json"
