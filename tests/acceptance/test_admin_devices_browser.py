"""Staff see in a real browser what devices have, on a desk and on a phone, and take it back from one that died."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from channels_app.models import Consumer, DeliveryJob
from tests.acceptance.browser import browser_page, chromium, is_within
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.pull.held import lease
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import page as page_of
from tests.channels_app.staff import pages
from tests.channels_app.traffic import make_attempt, make_job, make_message

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "pump-" + "x" * 250


@pytest.fixture
def consumer(live_server: Any) -> Consumer:
    """Two jobs with one device, one with another of a long name."""
    channel, now = make_channel("orders"), timezone.now()
    consumer, producer = make_consumer(channel, "billing", type="pull"), make_producer("shop")
    for number, device_id in enumerate(("pump-7", "pump-7", LONG)):
        received_at = now - timedelta(minutes=9)
        stored = {"status": 101, "received_at": received_at, "dispatched_at": received_at}
        message = make_message(channel, producer, f"order-{number}", **stored)
        job = make_job(message, consumer, attempt=1, failures=1)
        make_attempt(job, 1, reason="nacked", device_id=device_id, error="no water")
        began: dict[str, Any] = {"started_at": now, "device_started_at": now - timedelta(seconds=3)}
        lease(job, device_id=device_id, received_at=now - timedelta(minutes=number + 1), **began)
    return consumer


def open_consumer(admin: Page) -> None:
    sidebar(admin, "Consumers").click()
    admin.get_by_role("link", name="billing", exact=True).click()


def test_what_a_dead_device_has_is_released_after_a_yes(admin: Page, consumer: Consumer) -> None:
    open_consumer(admin)
    expect(admin.get_by_text("Not acknowledged: 3 jobs")).to_be_visible()
    device = admin.get_by_role("listitem").filter(has_text="pump-7")
    expect(device).to_contain_text("2 jobs")
    device.get_by_role("button", name="Release").click()
    expect(admin.get_by_text("It has 2 jobs now.")).to_be_visible()
    admin.get_by_role("link", name="No, take me back").click()
    expect(admin.get_by_text("Not acknowledged: 3 jobs")).to_be_visible()
    device.get_by_role("button", name="Release").click()
    admin.get_by_role("button", name="Yes, release 2 jobs").click()
    expect(admin.get_by_text("Released 2 jobs of device pump-7.")).to_be_visible()
    expect(admin.get_by_text("Not acknowledged: 1 job,")).to_be_visible()
    assert DeliveryJob.objects.filter(status=1001, failures=1).count() == 2
    admin.get_by_role("link", name="History").click()
    expect(admin.get_by_role("table")).to_contain_text("Released 2 jobs of device pump-7")


def test_a_device_leads_to_its_jobs_and_a_job_tells_its_device(admin: Page, consumer: Consumer) -> None:
    open_consumer(admin)
    admin.get_by_role("link", name="pump-7", exact=True).click()
    rows = admin.locator("#result_list tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("pump-7")
    rows.first.get_by_role("link").first.click()
    story = admin.locator(".timeline-moment")
    expect(story).to_contain_text(["failed", "leased", "started", "in flight"])
    expect(story.nth(0)).to_contain_text("Attempt 1, device pump-7: nacked")
    expect(story.nth(1)).to_contain_text("The consumer took it, device pump-7: attempt 2.")
    expect(story.nth(2)).to_contain_text("By the device's clock:")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_its_pages_fit_a_desk_and_a_phone_in_both_themes(
    admin: Page, consumer: Consumer, live_server: Any, scheme: Any, width: int
) -> None:
    admin.emulate_media(color_scheme=scheme)
    admin.set_viewport_size({"width": width, "height": 844})
    job = DeliveryJob.objects.get(device_id=LONG)
    admin.goto(f"{live_server.url}{pages(DeliveryJob)}?status__exact=1002")
    expect(admin.locator("#result_list")).to_contain_text("pump-xxx")
    assert is_within(admin, "main")
    for row, part in ((consumer, ".device"), (job, ".timeline-moment, .readonly"), (job.message, ".timeline-moment")):
        admin.goto(f"{live_server.url}{page_of(row)}")
        expect(admin.locator(part).first).to_be_visible()
        assert is_within(admin, part)
