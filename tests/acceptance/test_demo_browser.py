"""./broker demo in a real browser: every page has something to show, and what it shows is true."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.acceptance.axe import violations
from tests.acceptance.browser import launched, watch
from tests.acceptance.demo import REASONS, SECONDS, Demo, by_api, by_database, by_page, deliveries, figure, playing
from tests.acceptance.running import is_alive
from tests.acceptance.servers import wait_until
from tests.acceptance.test_admin_browser import log_in

DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
CHANNELS = ("demo-orders", "demo-payments", "demo-invoices", "demo-signups", "demo-telemetry", "demo-reminders")
# A list of the admin, and words that stand in it while the demo plays.
LISTS = {
    "channels_app/channel": CHANNELS,
    "channels_app/producer": ("demo-shop", "demo-website", "demo-sensors"),
    "channels_app/consumer": ("billing", "warehouse", "old-bank", "newsletter", "breaker", "disabled"),
    "channels_app/message": ("demo-orders", "demo-telemetry"),
    "channels_app/deliveryjob": ("DELIVERED",),
    "channels_app/deliveryjob/?status__exact=1004": ("DEAD",),
    "channels_app/operation": ("redrive",),
    "channels_app/apikey": ("./broker demo",),
    "scheduling_app/scheduledmessage": ("demo-reminders",),
    "scheduling_app/recurringschedule": ("stand-up", "close-the-books", "every-minute"),
    "dlq_app/deadletter": ("demo-",),
    "channels_app/alert": ("demo-payments",),
    "django_celery_beat/periodictask": (),
}


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with playing() as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def cookies(demo: Demo, browser: Browser) -> Any:
    """Staff log in once: their log-ins are paced."""
    with browser.new_context() as context:
        log_in(context.new_page(), url_of(demo))
        return context.storage_state()


@pytest.fixture
def desk(browser: Browser, cookies: Any) -> Iterator[Page]:
    """Staff, logged in; errors on the console and requests that leave the machine are found fault with."""
    with browser.new_context(storage_state=cookies, viewport=DESK) as context:
        context.set_default_timeout(30_000)
        page = context.new_page()
        faults = watch(context, page)
        yield page
        assert faults == []


def url_of(demo: Demo) -> str:
    return f"http://127.0.0.1:{demo.broker.port}"


def text_of(page: Page) -> str:
    return re.sub(r"\s+", " ", page.locator("#main, main, body").first.inner_text())


@pytest.mark.parametrize("name", LISTS)
def test_every_list_has_something_to_show(demo: Demo, desk: Page, name: str) -> None:
    path = name if "?" in name else f"{name}/"
    rows = desk.locator("#result_list tbody tr")

    def shows_it() -> bool:
        answer = desk.goto(f"{url_of(demo)}/admin/{path}")
        assert answer is not None
        assert answer.status == 200
        shown = " ".join(rows.all_inner_texts()).lower()
        return rows.count() > 0 and all(word.lower() in shown for word in LISTS[name])

    wait_until(shows_it, SECONDS)


def test_the_overview_of_dead_letters_tells_all_their_causes(demo: Demo, desk: Page) -> None:
    desk.goto(f"{url_of(demo)}/admin/dlq_app/deadletter/overview/")
    causes = desk.get_by_role("region", name="By cause")
    for reason in REASONS:
        expect(causes).to_contain_text(reason)


def test_what_is_due_over_the_next_day_is_a_picture(demo: Demo, desk: Page) -> None:
    desk.goto(f"{url_of(demo)}/admin/scheduling_app/scheduledmessage/")
    hours = desk.get_by_role("region", name="Due in the next hours").locator(".outlook-hour")
    counts = [int((title or "0").rpartition(" ")[2]) for title in (one.get_attribute("title") for one in hours.all())]
    assert sum(count > 0 for count in counts) > 1


def test_a_message_tells_the_story_of_its_deliveries(demo: Demo, desk: Page) -> None:
    desk.goto(f"{url_of(demo)}/admin/channels_app/deliveryjob/?status__exact=1004")
    desk.locator("#result_list tbody th a").first.click()
    expect(desk.get_by_role("heading", level=1).or_(desk.get_by_role("heading", level=2)).first).to_be_visible()
    assert re.search(r"refused|HTTP \d{3}|archive cannot read", text_of(desk))


def test_a_message_is_found_in_the_explorer_and_tells_its_life(demo: Demo, desk: Page) -> None:
    desk.goto(f"{url_of(demo)}/admin/watch/explorer/")
    desk.get_by_label("Channel").fill("demo-orders")
    desk.get_by_label("Status").select_option("delivered")
    desk.get_by_role("button", name="Search").click()
    found = desk.get_by_role("region", name="Results").locator("tbody th a").first
    message_id = found.inner_text()
    found.click()
    expect(desk).to_have_title(re.compile(f"^{re.escape(message_id)}"))
    expect(desk.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(desk.get_by_text(re.compile(r"^The consumer has (acknowledged )?it\.")).first).to_be_visible()


@pytest.fixture(scope="module")
def settled(demo: Demo) -> Demo:
    """Stopped, and nothing moves any more."""
    assert demo.stop() == 0, demo.said
    wait_until(lambda: by_api(demo) == by_database(demo) and by_api(demo).in_flight == 0, SECONDS)
    return demo


def test_a_ctrl_c_ends_it_with_a_word_and_leaves_nothing_behind(settled: Demo) -> None:
    assert "./broker demo --remove" in settled.said
    assert "Traceback" not in settled.said
    assert not [one for one in settled.broker.processes() if "broker_project.demo" in " ".join(one.cmdline())]
    assert not is_alive(settled.process.pid)
    assert settled.broker.status()["state"] == "running"


def test_the_dashboards_numbers_are_those_of_the_api_and_of_the_database(settled: Demo, desk: Page) -> None:
    """Messages for later go on: the three are asked until they were asked between two of them."""
    desk.goto(f"{url_of(settled)}/admin/watch/?range=24h")

    def agree() -> bool:
        before, shown, after = by_api(settled), by_page(desk), by_database(settled)
        desk.reload()
        return before == shown == after

    wait_until(agree, SECONDS)
    assert min(by_page(desk).letters, by_page(desk).scheduled, by_page(desk).accepted) > 0
    wait_until(lambda: (figure(desk, "delivered"), figure(desk, "failed")) == deliveries(settled), SECONDS)


def test_every_consumers_row_says_what_the_api_says(settled: Demo, desk: Page) -> None:
    desk.goto(f"{url_of(settled)}/admin/watch/")
    letters = settled.read("/dlq-status")["counts"]
    for channel, consumers in letters.items():
        for name, count in consumers.items():
            cell = desk.locator(f"[data-consumer='{channel}/{name}'] [data-cell=letters]")
            expect(cell).to_have_attribute("data-value", str(count))
    expect(desk.locator("[data-consumer='demo-signups/newsletter']")).to_contain_text("disabled")
    expect(desk.locator("[data-consumer='demo-orders/billing']")).to_contain_text("paused")


def test_every_link_of_the_dashboard_leads_where_it_says(settled: Demo, desk: Page) -> None:
    """Pages of the admin are opened; health, which is no page, is asked for. Flower is another server."""
    desk.goto(f"{url_of(settled)}/admin/watch/")
    links = desk.locator(".watch a[href]").evaluate_all("(all) => all.map((one) => one.href)")
    own = {link.partition("#")[0] for link in links if link.startswith(url_of(settled))}
    assert len(own) > 20
    pages = {link for link in own if "/admin/" in link}
    assert [desk.request.get(link).status for link in own - pages] == [200] * len(own - pages)
    for link in sorted(pages):
        answer = desk.goto(link)
        assert answer is not None
        assert answer.status == 200, link
        expect(desk).to_have_title(re.compile(heading_of(link), re.IGNORECASE))


def heading_of(link: str) -> str:
    """What the page that a link leads to is called."""
    names = {
        "/watch/": "dashboard",
        "/overview/": "dead letters",
        "/deadletter/": "dead letter",
        "/deliveryjob/": "job",
        "/message/": "message",
        "/scheduledmessage/": "scheduled message",
        "/consumer/": "consumer",
        "/channel/": "channel",
        "/operation/": "operation",
        "/report/": "report",
        "/alert/": "alert",
    }
    return next((name for part, name in names.items() if part in urljoin(link, ".")), "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_full_dashboard_can_be_read_by_everybody(settled: Demo, desk: Page, scheme: Any, size: ViewportSize) -> None:
    desk.emulate_media(color_scheme=scheme)
    desk.set_viewport_size(size)
    desk.goto(f"{url_of(settled)}/admin/watch/")
    expect(desk.locator("[data-live=live]")).to_be_visible()
    assert violations(desk, ".watch") == []


def test_removed_it_is_gone_and_its_history_stays(settled: Demo) -> None:
    before = settled.query("SELECT count(*) FROM message")
    told = settled.broker.do("demo", "--remove")
    assert "7 channels of the demo and their consumers are removed" in told
    left = settled.read("/channels")["result"] + settled.read("/producers")["result"]
    assert [place for place in left if "demo-" in place] == []
    assert settled.query("SELECT count(*) FROM message") >= before
    assert "nothing of the demo to remove" in settled.broker.do("demo", "--remove")
