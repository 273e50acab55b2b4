"""The dashboard in a real browser, with an engine that runs: right, alive, light, and for everybody."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.acceptance.axe import violations
from tests.acceptance.browser import is_within, launched, watch
from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until
from tests.acceptance.test_admin_browser import PASSWORD, log_in

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
MOST_BYTES = 500 * 1024
SECONDS = 60.0
GOOD, BAD = 12, 3


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    """Of its own: the dashboard counts everything there is."""
    own_engine.broker.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
    who = ("--username", "operator", "--email", "operator@example.com")
    own_engine.broker.manage("createsuperuser", "--noinput", *who)
    return own_engine


@pytest.fixture(scope="module")
def listening() -> Iterator[Receiver]:
    with receiving() as receiver:
        receiver.answer = lambda delivery: 400 if delivery.body == b"bad" else 200
        yield receiver


@pytest.fixture(scope="module")
def channel(engine: Engine, listening: Receiver) -> Channel:
    """Some of its messages were delivered, some died at once, one is for later."""
    made = engine.channel(listening, retryPolicy={"retries": 0}, name="<script>document.title='taken'</script>")
    made.change_consumer(circuitBreaker=False)
    for body in [b"good"] * GOOD + [b"bad"] * BAD:
        assert made.publish(body).status_code == 201
    later = (datetime.now(UTC) + timedelta(minutes=30)).isoformat().replace("+00:00", "Z")
    assert made.publish(b"later", Scheduled_For=later).status_code == 201
    wait_until(lambda: jobs(engine, made) == {"DELIVERED": GOOD, "DEAD": BAD}, SECONDS)
    return made


def jobs(engine: Engine, channel: Channel) -> dict[str, int]:
    counts = engine.web.get("/job-status").json()["counts"].get(channel.name, {}).get("k", {})
    return {state: count for state, count in counts.items() if count}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A busy machine may take its time; a page that is right comes all the same."""
    expect.set_options(timeout=60_000)
    with launched() as browser:
        yield browser
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def cookies(browser: Browser, engine: Engine) -> Any:
    """Staff log in once: their log-ins are paced."""
    with browser.new_context() as context:
        log_in(context.new_page(), address(engine))
        return context.storage_state()


def address(engine: Engine) -> str:
    return str(engine.web.base_url).rstrip("/")


@contextmanager
def opened(browser: Browser, cookies: Any, **manners: Any) -> Iterator[tuple[BrowserContext, Page]]:
    with browser.new_context(storage_state=cookies, **{"viewport": DESK, **manners}) as context:
        context.set_default_timeout(60_000)
        yield context, context.new_page()


@pytest.fixture
def page(browser: Browser, cookies: Any, engine: Engine, channel: Channel) -> Iterator[Page]:
    """The dashboard of the last five minutes; whatever goes wrong in it is a fault."""
    with opened(browser, cookies) as (context, page):
        faults = watch(context, page)
        page.goto(f"{address(engine)}/admin/watch/?range=15m")
        yield page
        assert faults == []


def figure(page: Page, name: str) -> float:
    return float(page.locator(f"[data-figure={name}]").first.get_attribute("data-value") or "nan")


def shows(page: Page, **figures: float) -> None:
    for name, value in figures.items():
        expect(page.locator(f"[data-figure={name}]").first).to_have_attribute("data-value", str(value), timeout=60_000)


def test_its_numbers_are_those_of_the_api_and_of_the_database(page: Page, engine: Engine, channel: Channel) -> None:
    shows(page, accepted=GOOD + BAD, delivered=GOOD, failed=BAD, dead=BAD, letters=BAD, scheduled=1, queued=0)
    assert figure(page, "success_rate") == pytest.approx(GOOD / (GOOD + BAD))
    api = engine.web.get(f"/channel/{channel.name}/messages-status").json()["counts"]
    assert (api["DISPATCHED"]["count"], api["SCHEDULED"]["count"]) == (
        figure(page, "accepted"),
        figure(page, "scheduled"),
    )
    assert sum(engine.web.get("/dlq-status").json()["counts"][channel.name].values()) == figure(page, "letters")
    row = page.locator(f"[data-consumer='{channel.name}/k']")
    expect(row.locator("[data-cell=letters]")).to_have_attribute("data-value", str(BAD))
    expect(page.locator("[data-cause=http_4xx]")).to_have_attribute("data-value", str(BAD))
    with psycopg.connect(engine.broker.database_url) as connection:
        counted = connection.execute("SELECT count(*) FROM delivery_job WHERE status = 1003").fetchone()
    assert counted == (figure(page, "delivered"),)


def test_it_goes_on_by_itself(page: Page, channel: Channel) -> None:
    expect(page.locator("[data-live=live]")).to_have_text("Live")
    before = figure(page, "delivered")
    page.evaluate("window.kept = document.querySelector('[data-consumer]')")
    assert channel.publish(b"good").status_code == 201
    shows(page, delivered=int(before) + 1)
    assert page.evaluate("window.kept === document.querySelector('[data-consumer]')"), "rows are kept, not made anew"


def test_the_script_draws_what_the_server_has_drawn(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    """From the numbers that came with the page: it gets no others."""
    with opened(browser, cookies) as (_, page):
        page.route("**/watch/data*", lambda route: route.abort())
        answer = page.goto(f"{address(engine)}/admin/watch/?range=15m")
        assert answer is not None
        drawn = dict(re.findall(r'data-line="(\w+)" d="([^"]*)"', answer.text()))
        expect(page.locator("[data-live=still]")).to_have_count(0)
        assert drawn["accepted"]
        for key, path in drawn.items():
            now = page.locator(f"[data-line={key}]").get_attribute("d") or ""
            assert numbers(now) == pytest.approx(numbers(path), abs=0.11), key


def numbers(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", path)]


def test_every_link_answers_and_leads_where_it_says(page: Page, engine: Engine) -> None:
    links = page.locator(".watch a[href]").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert len(links) > 20
    outside = {link for link in links if link.startswith("http")}
    for link in sorted({urljoin(page.url, link).partition("#")[0] for link in set(links) - outside}):
        assert page.request.get(link).status == 200, link
    # Flower is another server.
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+/?", link) for link in outside)


@pytest.mark.parametrize(
    ("figure_name", "heading", "rows"),
    [
        ("letters", "dead letter", BAD),
        ("scheduled", "scheduled message", 1),
        ("due_hour", "scheduled message", 1),
        ("dead", "job", BAD),
    ],
)
def test_one_click_leads_from_a_number_to_the_rows_behind_it(
    page: Page, figure_name: str, heading: str, rows: int
) -> None:
    page.locator("a", has=page.locator(f"[data-figure={figure_name}]")).click()
    expect(page.locator("#result_list tbody tr")).to_have_count(rows)
    expect(page).to_have_title(re.compile(heading, re.IGNORECASE))


def test_a_consumers_row_leads_to_its_letters_and_to_itself(page: Page, channel: Channel) -> None:
    row = page.locator(f"[data-consumer='{channel.name}/k']")
    row.locator("[data-cell=letters] a").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(BAD)
    page.go_back()
    row.locator("th a").click()
    expect(page.locator("#id_callback_url")).to_be_visible()


def test_the_address_holds_the_choice(page: Page, channel: Channel) -> None:
    page.get_by_label("Channel", exact=True).fill(channel.name)
    page.get_by_label("Channel", exact=True).press("Enter")
    page.wait_for_url(f"**/watch/?range=15m&channel={channel.name}")
    page.get_by_label("Consumer", exact=True).fill("k")
    page.get_by_label("Consumer", exact=True).press("Enter")
    page.wait_for_url(f"**/watch/?range=15m&channel={channel.name}&consumer=k")
    page.get_by_role("navigation", name="Range").get_by_text("1h").click()
    page.wait_for_url(f"**/watch/?channel={channel.name}&consumer=k")
    expect(page.locator("[data-consumer]")).to_have_count(1)
    page.get_by_role("link", name="All", exact=True).click()
    page.wait_for_url("**/watch/?")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_it_can_be_read_by_everybody_in_both_themes_and_on_a_phone(page: Page, scheme: Any, size: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    page.reload()
    expect(page.locator("html.dark")).to_have_count(int(scheme == "dark"))
    expect(page.locator("[data-live=live]")).to_be_visible()
    assert violations(page, ".watch") == []
    assert is_within(page, ".watch-tile, .watch-card, .watch-bar")


FOCUSED = """() => {
    const at = document.activeElement, look = getComputedStyle(at);
    const places = { '.watch-ranges': 'range', '.watch-tile': 'tile', '[data-consumer]': 'consumer' };
    const place = Object.keys(places).find((one) => at.closest(one));
    return { is: places[place] ?? at.id, outline: look.outlineStyle !== 'none' || look.boxShadow !== 'none' };
}"""


def test_a_keyboard_reaches_everything_and_the_focus_can_be_seen(page: Page) -> None:
    wanted = {"range", "watch-channel", "tile", "consumer"}
    page.locator(".watch-ranges a").first.focus()
    for _ in range(60):
        told = page.evaluate(FOCUSED)
        if told["is"] in wanted:
            assert told["outline"], told
            wanted.discard(told["is"])
        page.keyboard.press("Tab")
    assert wanted == set()


def test_focus_stays_where_it_is_while_the_numbers_change(page: Page, channel: Channel) -> None:
    link = page.locator(f"[data-consumer='{channel.name}/k'] th a")
    link.focus()
    with page.expect_response("**/watch/data*"):
        pass
    with page.expect_response("**/watch/data*"):
        pass
    expect(link).to_be_focused()


def test_without_scripts_the_numbers_lists_and_pictures_are_there(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    with opened(browser, cookies, java_script_enabled=False) as (_, page):
        page.goto(f"{address(engine)}/admin/watch/")
        expect(page.locator("[data-figure=letters]")).to_have_text(str(BAD))
        expect(page.locator(f"[data-consumer='{channel.name}/k']")).to_be_visible()
        assert page.locator("[data-line=accepted]").get_attribute("d")
        expect(page.get_by_text("Times are UTC.")).to_be_visible()


def test_times_are_in_the_viewers_zone_and_say_what_they_are_in_utc(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    with opened(browser, cookies, timezone_id="Asia/Kolkata") as (_, page):
        page.goto(f"{address(engine)}/admin/watch/?range=5m")
        expect(page.locator("[data-zone]")).to_contain_text("Times are in Asia/Calcutta (UTC+5:30)")
        tick = page.locator(".watch-ticks time").first
        at = datetime.fromisoformat(tick.get_attribute("datetime") or "")
        assert tick.get_attribute("title") == f"{at:%Y-%m-%d %H:%M:%S} UTC"
        assert tick.inner_text() == f"{at + timedelta(hours=5, minutes=30):%H:%M}"


def test_a_server_that_cannot_be_reached_is_said_and_comes_back(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    with opened(browser, cookies) as (context, page):
        page.goto(f"{address(engine)}/admin/watch/?range=5m")
        context.set_offline(True)
        expect(page.locator("[data-live=away]")).to_contain_text("cannot be reached")
        expect(page.get_by_role("status").first).to_have_text("The server cannot be reached.")
        context.set_offline(False)
        expect(page.locator("[data-live=live]")).to_have_text("Live")
        context.clear_cookies()
        expect(page.locator("[data-live=out]")).to_contain_text("Logged out")


def test_a_channel_that_is_deleted_while_it_is_watched_is_said(
    browser: Browser, cookies: Any, engine: Engine, listening: Receiver
) -> None:
    gone = engine.channel(listening)
    with opened(browser, cookies) as (_, page):
        page.goto(f"{address(engine)}/admin/watch/?range=5m&channel={gone.name}")
        expect(page.locator("[data-live=live]")).to_have_text("Live")
        path = f"/channel/{gone.name}"
        etag = engine.web.get(path).headers["ETag"]
        assert engine.web.delete(path, headers={"If-Match": etag}).status_code == 204
        expect(page.locator("[data-live=refused]")).to_have_text("There is no channel with this id.")
        expect(page.get_by_role("status").first).to_have_text("There is no channel with this id.")


def test_an_answer_that_cannot_be_shown_is_said_and_does_not_stop_the_page(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    with opened(browser, cookies) as (_, page):
        page.route("**/watch/data*", lambda route: route.fulfill(json={}))
        page.goto(f"{address(engine)}/admin/watch/?range=5m")
        expect(page.locator("[data-live=broken]")).to_contain_text("cannot be shown")
        page.unroute("**/watch/data*")
        expect(page.locator("[data-live=live]")).to_have_text("Live")


def test_a_hidden_tab_asks_for_nothing(browser: Browser, cookies: Any, engine: Engine, channel: Channel) -> None:
    with opened(browser, cookies) as (_, page):
        page.clock.install()
        page.goto(f"{address(engine)}/admin/watch/?range=5m")
        page.evaluate(HIDE, True)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/watch/data" in request.url else None)
        page.clock.run_for(60_000)
        assert asked == []
        with page.expect_response("**/watch/data*"):
            page.evaluate(HIDE, False)
        assert asked != []


HIDE = """(hidden) => {
    Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_the_page_is_light_and_asks_nobody_else(
    browser: Browser, cookies: Any, engine: Engine, channel: Channel
) -> None:
    with opened(browser, cookies) as (context, page):
        faults = watch(context, page)
        sizes: list[int] = []
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        devtools.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
        page.goto(f"{address(engine)}/admin/watch/?range=1h", wait_until="networkidle")
        page.evaluate("document.fonts.ready")
        assert len(sizes) > 10
        assert 50_000 < sum(sizes) < MOST_BYTES
        assert faults == []
