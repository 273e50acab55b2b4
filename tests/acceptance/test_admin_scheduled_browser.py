"""Staff at the messages for later in a real browser: what comes when, one's story, and what can still be done to it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from channels_app.models import Channel, Producer
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.acceptance.browser import browser_page, chromium
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.registry import make_channel, make_producer
from tests.scheduling_app.later import make_scheduled

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

PAYLOAD = b'{"order":"7","note":"<script>document.title=1</script>","price":19.90}'


@pytest.fixture
def channel(live_server: Any) -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer(live_server: Any) -> Producer:
    return make_producer("shop")


@pytest.fixture
def message(channel: Channel, producer: Producer) -> ScheduledMessage:
    later = {"scheduled_for": timezone.now() + timedelta(hours=3), "headers": {"X-A": "1"}}
    return make_scheduled(channel, producer, "order-7", payload=PAYLOAD, **later)


def find(admin: Page, message_id: str) -> None:
    sidebar(admin, "Scheduled messages").click()
    admin.locator("#searchbar").fill(message_id)
    admin.locator("#searchbar").press("Enter")
    admin.get_by_role("link", name=message_id, exact=True).click()


def do(admin: Page, act: str) -> None:
    admin.get_by_role("button", name=act).click()
    admin.get_by_role("button", name=f"Yes, {act.lower()}").click()


def bars(admin: Page) -> Locator:
    return admin.locator(".outlook-bar")


def test_a_message_is_found_by_its_id_and_tells_its_story(admin: Page, message: ScheduledMessage) -> None:
    find(admin, "order-7")
    story = admin.locator(".timeline-moment")
    expect(story).to_contain_text(["accepted", "due", "waiting"])
    expect(story.nth(0)).to_contain_text("from producer shop")
    expect(story.nth(1)).to_contain_text(f"{message.due_at:%Y-%m-%d %H:%M:%S}")
    expect(story.nth(2)).to_contain_text(re.compile(r"Waits for its time, in 2.hours, 59.minutes"))
    expect(admin.locator(".payload")).to_contain_text('"price": 19.90')
    expect(admin).to_have_title(re.compile("^order-7"))


def test_a_message_is_rescheduled_and_then_dispatched_now(admin: Page, message: ScheduledMessage) -> None:
    find(admin, "order-7")
    admin.get_by_role("button", name="Reschedule").click()
    when = admin.get_by_label("New time (UTC)")
    expect(when).to_have_value(f"{message.scheduled_for:%Y-%m-%dT%H:%M:%S}")
    when.fill("2020-01-02T03:04:05")
    admin.get_by_role("button", name="Yes, reschedule").click()
    expect(admin.get_by_role("alert")).to_contain_text("at least 2 minutes ahead")
    admin.get_by_label("New time (UTC)").fill("2100-01-02T03:04:05")
    admin.get_by_role("button", name="Yes, reschedule").click()
    expect(admin.locator(".timeline-moment").nth(1)).to_contain_text("2100-01-02 03:04:05")
    do(admin, "Dispatch now")
    expect(admin.get_by_text("Dispatched now: order-7.")).to_be_visible()
    message.refresh_from_db()
    assert message.due_at <= timezone.now()
    admin.get_by_role("link", name="History").click()
    expect(admin.get_by_role("table")).to_contain_text("Rescheduled to 2100-01-02 03:04:05 UTC")
    expect(admin.get_by_role("table")).to_contain_text("Dispatched now")


def test_several_are_cancelled_from_the_list(
    admin: Page, channel: Channel, producer: Producer, message: ScheduledMessage
) -> None:
    make_scheduled(channel, producer, "order-8")
    sidebar(admin, "Scheduled messages").click()
    for name in ("order-7", "order-8"):
        admin.locator("#result_list tr", has_text=name).locator("input.action-select").check()
    admin.locator("select[name=action]").select_option("cancel")
    admin.get_by_role("button", name="Run").click()
    expect(admin.get_by_text("Cancel: order-8, order-7?").first).to_be_visible()
    admin.get_by_role("link", name="No, take me back").click()
    expect(admin.locator("#result_list")).to_be_visible()
    assert ScheduledMessage.objects.waiting().count() == 2
    find(admin, "order-8")
    do(admin, "Cancel")
    expect(admin.locator(".timeline-moment").nth(2)).to_contain_text("somebody cancelled it")
    expect(admin.get_by_role("button", name="Cancel")).to_have_count(0)
    assert list(ScheduledMessage.objects.waiting()) == [message]


def test_the_list_is_filtered_by_time(admin: Page, channel: Channel, producer: Producer) -> None:
    now = timezone.now()
    for name, hours in (("soon", 0.5), ("tomorrow", 20), ("late", -1)):
        make_scheduled(channel, producer, name, scheduled_for=now + timedelta(hours=hours))
    make_scheduled(channel, producer, "aside", status=ScheduledStatus.SET_ASIDE, reason="id_taken")
    sidebar(admin, "Scheduled messages").click()
    admin.get_by_role("link", name="Overdue: 1").click()
    expect(admin.locator("#result_list tbody tr")).to_have_count(1)
    expect(admin.locator("#result_list")).to_contain_text(re.compile(r"late.*1.hour late", re.DOTALL))
    admin.goto(re.sub("due=overdue", "due=aside", admin.url))
    expect(admin.locator("#result_list")).to_contain_text("another message of the channel has its id")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_fits_a_phone_in_both_themes(
    admin: Page, channel: Channel, producer: Producer, scheme: Any
) -> None:
    now = timezone.now()
    for hours in range(1, 23):
        for copy in range(1 + hours * hours % 7):
            make_scheduled(channel, producer, f"m-{hours}-{copy}", scheduled_for=now + timedelta(hours=hours))
    admin.emulate_media(color_scheme=scheme)
    sidebar(admin, "Scheduled messages").click()
    admin.set_viewport_size({"width": 390, "height": 844})
    expect(bars(admin)).to_have_count(24)
    picture = admin.get_by_role("region", name="Due in the next hours")
    expect(picture).to_contain_text("in all; most, 5, from")
    assert admin.locator("html.dark").count() == (scheme == "dark")
    parts = [picture, *bars(admin).all(), *admin.locator(".outlook-label:not(:empty), .outlook-said").all()]
    for box in (part.bounding_box() for part in parts):
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    # The room for the tallest is all there is between the words and the hours.
    assert sum(bar.evaluate("bar => bar.offsetHeight > 60") for bar in bars(admin).all()) >= 1
    assert admin.evaluate("document.documentElement.scrollWidth") <= 390
    paper, ink = (
        part.evaluate("part => getComputedStyle(part).backgroundColor") for part in (picture, bars(admin).first)
    )
    assert paper != ink
