"""Staff find a message in a real browser, read its story on a desk and on a phone, and hold a consumer up."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from channels_app.models import Consumer, Message
from tests.acceptance.browser import browser_page, chromium
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.traffic import make_attempt, make_job, make_message

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

PAYLOAD = b'{"order":"7","note":"<img src=x onerror=document.title=1><script>document.title=1</script>","price":19.90}'


@pytest.fixture
def message(live_server: Any) -> Message:
    """Refused once, then to be tried again in a minute."""
    channel = make_channel("orders")
    consumer = make_consumer(channel, "billing")
    now = timezone.now()
    stored = make_message(
        channel, make_producer("shop"), "order-7", payload=PAYLOAD, status=101, dispatched_at=now, headers={"X-A": "1"}
    )
    waits = {"next_attempt_at": now + timedelta(minutes=1), "attempt": 1, "failures": 1, "reason": "http_5xx"}
    job = make_job(stored, consumer, **waits)
    make_attempt(job, 1, status_code=503, reason="http_5xx", answer="<b>try later</b>")
    return stored


def find(admin: Page, message_id: str) -> None:
    sidebar(admin, "Messages").click()
    admin.locator("#searchbar").fill(message_id)
    admin.locator("#searchbar").press("Enter")
    admin.get_by_role("link", name=message_id, exact=True).click()


def test_a_message_is_found_by_its_id_and_tells_its_story(admin: Page, message: Message) -> None:
    find(admin, message.message_id)
    story = admin.locator(".timeline-moment")
    # Waits for the page: as many moments as texts, in this order.
    expect(story).to_contain_text(["accepted", "dispatched", "failed", "next try"])
    expect(story.nth(2)).to_contain_text("Attempt 1: HTTP 503, http_5xx, after 41 ms.")
    expect(story.nth(2)).to_contain_text("<b>try later</b>")
    expect(story.nth(3)).to_contain_text("failures: 1 of 4")
    expect(admin.locator(".payload")).to_contain_text('"price": 19.90')
    expect(admin.locator(".payload")).to_contain_text("<script>")
    expect(admin).to_have_title(re.compile("^order-7"))
    admin.get_by_role("link", name="Jobs of this message").click()
    expect(admin.locator("#result_list")).to_contain_text("billing")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_story_fits_a_phone_in_both_themes(admin: Page, message: Message, scheme: Any) -> None:
    find(admin, message.message_id)
    admin.emulate_media(color_scheme=scheme)
    admin.set_viewport_size({"width": 390, "height": 844})
    expect(admin.locator(".timeline-moment")).to_have_count(4)
    expect(admin.locator(".payload")).to_be_visible()
    for part in admin.locator(".timeline-moment, .payload").all():
        box = part.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390


def test_a_consumer_is_paused_and_resumed_from_its_page(admin: Page, message: Message) -> None:
    find(admin, message.message_id)
    admin.get_by_role("heading", name="billing").get_by_role("link", name="billing").click()
    expect(admin.get_by_role("status").first).to_contain_text("Delivering.")
    for act, words in (("Pause", "Paused since"), ("Resume", "Delivering.")):
        admin.get_by_role("button", name=act, exact=False).click()
        admin.get_by_role("button", name=f"Yes, {act.lower()}").click()
        expect(admin.get_by_text(words).first).to_be_visible()
    assert Consumer.objects.get().state.paused_at is None
    admin.get_by_role("link", name="History").click()
    expect(admin.get_by_role("table")).to_contain_text("Resumed")
