"""Staff at work in a real browser: from the log-in to a revealed token in the history."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from channels_app.models import Channel, Consumer
from tests.acceptance.browser import browser_page, chromium

__all__ = ["browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "a long enough password"
# By a pattern, in which case counts: "Yes, make a new token" is another button.
MAKE_A_TOKEN = re.compile("Make a new token")


@pytest.fixture
def admin(browser_page: Page, live_server: Any) -> Page:
    """The browser, logged in."""
    User.objects.create_superuser("operator", password=PASSWORD)
    log_in(browser_page, live_server.url)
    return browser_page


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def sidebar(admin: Page, title: str) -> Locator:
    """By its whole text: a link's accessible name begins with its icon, and one title may be a part of another."""
    return admin.locator("#nav-sidebar-apps a").filter(has=admin.get_by_text(title, exact=True))


def add_channel(admin: Page, public_id: str) -> None:
    sidebar(admin, "Channels").click()
    admin.locator("a[href$='/channel/add/']").first.click()
    admin.locator("#id_public_id").fill(public_id)
    admin.get_by_role("button", name="Save and continue editing").click()
    expect(admin.get_by_role("link", name="Consumers (0)")).to_be_visible()


def test_a_channel_is_made_gets_a_push_consumer_and_its_revealed_token_is_in_the_history(admin: Page) -> None:
    add_channel(admin, "orders")
    admin.get_by_role("link", name="Add a consumer").click()
    admin.locator("#id_public_id").fill("billing")
    admin.locator("#id_callback_url").fill("https://billing.example.com/in")
    admin.get_by_role("button", name="Save and continue editing").click()
    consumer = Consumer.objects.named("billing").get()
    assert (consumer.channel.public_id, consumer.type) == ("orders", "push")
    expect(admin.locator("body")).not_to_contain_text(consumer.token)
    admin.get_by_role("button", name="Reveal the token").click()
    expect(admin.locator("#secret")).to_have_value(consumer.token)
    admin.get_by_role("link", name="Back", exact=True).click()
    admin.get_by_role("link", name="History").click()
    expect(admin.get_by_role("table")).to_contain_text("Revealed the token")


def test_a_new_token_is_made_after_a_yes_and_not_after_a_no(admin: Page) -> None:
    add_channel(admin, "orders")
    token = Channel.objects.named("orders").get().token
    admin.get_by_role("button", name=MAKE_A_TOKEN).click()
    admin.get_by_role("link", name="No, take me back").click()
    expect(admin.get_by_role("button", name=MAKE_A_TOKEN)).to_be_visible()
    assert Channel.objects.named("orders").get().token == token
    admin.get_by_role("button", name=MAKE_A_TOKEN).click()
    admin.get_by_role("button", name="Yes, make a new token").click()
    expect(admin.locator("#secret")).not_to_have_value(token)
    assert Channel.objects.named("orders").get().token == admin.locator("#secret").input_value()


def test_a_form_shows_the_fields_of_the_chosen_type(admin: Page, live_server: Any) -> None:
    admin.goto(f"{live_server.url}/admin/channels_app/consumer/add/")
    expect(admin.locator("#id_callback_url")).to_be_visible()
    expect(admin.locator("#id_pull_mode")).to_be_hidden()
    admin.locator("#id_type").select_option("pull")
    expect(admin.locator("#id_callback_url")).to_be_hidden()
    expect(admin.locator("#id_pull_mode")).to_be_visible()


def test_enter_in_a_field_saves_and_reveals_nothing(admin: Page) -> None:
    add_channel(admin, "orders")
    admin.locator("#id_name").fill("Orders")
    admin.locator("#id_name").press("Enter")
    admin.wait_for_url(re.compile(r"/channel/$"))
    assert Channel.objects.named("orders").get().name == "Orders"


def test_links_out_of_the_admin_open_beside_it(admin: Page) -> None:
    expect(sidebar(admin, "Workers (Flower)")).to_have_attribute("target", "_blank")
    expect(sidebar(admin, "API documents")).to_have_attribute("target", "_blank")
    expect(sidebar(admin, "Channels")).not_to_have_attribute("target", "_blank")
