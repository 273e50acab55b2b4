"""Recurring schedules in a real browser: the list and a page, on a desk and on a phone, in both themes."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from scheduling_app.models import RecurringSchedule
from tests.acceptance.browser import browser_page, chromium, is_within
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.registry import make_channel, make_producer
from tests.channels_app.staff import page as page_of
from tests.channels_app.staff import pages
from tests.scheduling_app.recurring.schedules import make_schedule

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "America/Argentina/ComodRivadavia"


@pytest.fixture
def schedule(live_server: Any) -> RecurringSchedule:
    """With the longest time zone that there is."""
    return make_schedule(make_channel("orders"), make_producer("shop"), "report", cron="30 2 * * *", timezone=ZONE)


def test_when_it_ticks_and_how_often_it_did_are_told_apart(admin: Page, schedule: RecurringSchedule) -> None:
    sidebar(admin, "Recurring schedules").click()
    heads = admin.locator("#result_list thead th")
    expect(heads.get_by_text("Ticks", exact=True)).to_have_count(1)
    expect(heads.get_by_text("Ticks so far", exact=True)).to_have_count(1)
    admin.get_by_role("link", name="report", exact=True).click()
    expect(admin.get_by_text(f"30 2 * * * ({ZONE})").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_and_a_page_fit_a_desk_and_a_phone_in_both_themes(
    admin: Page, schedule: RecurringSchedule, live_server: Any, scheme: Any, width: int
) -> None:
    admin.emulate_media(color_scheme=scheme)
    admin.set_viewport_size({"width": width, "height": 844})

    for path, part in ((pages(RecurringSchedule), "#result_list"), (page_of(schedule), ".readonly")):
        admin.goto(f"{live_server.url}{path}")
        expect(admin.locator(part).first).to_be_visible()
        assert is_within(admin, part)
