"""A bad day from its beginning to its end, in a real browser, with an engine that runs."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.browser import faultless_page, launched
from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until
from tests.acceptance.test_admin_browser import PASSWORD, log_in, sidebar

SECONDS = 60.0
MANY = 30


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    """Of its own: the overview counts everything there is."""
    own_engine.broker.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
    who = ("--username", "operator", "--email", "operator@example.com")
    own_engine.broker.manage("createsuperuser", "--noinput", *who)
    return own_engine


@pytest.fixture
def desk(engine: Engine) -> Iterator[Page]:
    """The browser, with staff logged in."""
    with launched() as browser, faultless_page(browser) as page:
        log_in(page, str(engine.web.base_url).rstrip("/"))
        yield page


@pytest.fixture
def channel(engine: Engine, receiver: Receiver) -> Channel:
    """Its consumer has moved, and nobody has told the broker."""
    receiver.answer = lambda delivery: 200 if delivery.path == "/hook" else 404
    made = engine.channel(receiver, retryPolicy={"retries": 0})
    made.change_consumer(callbackUrl=f"{receiver.url}/old", circuitBreaker=False)
    return made


def publish(channel: Channel, count: int) -> None:
    for number in range(count):
        assert channel.publish(f"order {number}".encode()).status_code == 201


def overview(desk: Page) -> Locator:
    desk.locator("#nav-sidebar-apps a[href$='/deadletter/overview/']").click()
    expect(desk.get_by_role("heading", name="By cause")).to_be_visible()
    return desk.get_by_role("status").first


def look_until(desk: Page, part: Locator, text: str) -> None:
    """As staff do: look again, until it says so."""

    def says_so() -> bool:
        desk.reload()
        return part.count() > 0 and f" {text}" in re.sub(r"\s+", " ", f" {part.inner_text()}")

    wait_until(says_so, SECONDS)


def raise_alarm_above(desk: Page, channel: Channel, depth: int) -> None:
    sidebar(desk, "Channels").click()
    desk.get_by_role("link", name=channel.name).first.click()
    desk.get_by_role("link", name="Dead letter policy").click()
    desk.get_by_label("Alert above (open letters)").fill(str(depth))
    desk.get_by_role("button", name="Save and continue editing").click()
    expect(desk.get_by_text("was changed successfully")).to_be_visible()


def mend_the_url(desk: Page, url: str) -> None:
    desk.get_by_role("link", name="Consumer k").click()
    desk.locator("#id_callback_url").fill(url)
    desk.get_by_role("button", name="Save and continue editing").click()
    expect(desk.locator("#id_callback_url")).to_have_value(url)


def watch_to_its_end(desk: Page) -> None:
    """The page moves by itself: it is not loaded again before the operation is done."""
    desk.evaluate("window.stayed = true")
    bar = desk.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", re.compile(r"^[1-9]\d$"), timeout=30_000)
    assert desk.evaluate("window.stayed")
    expect(desk.get_by_role("status").first).to_contain_text("DONE", timeout=30_000)
    expect(desk.get_by_role("status").first).to_contain_text(f"{MANY} of {MANY} done")
    expect(bar).to_have_attribute("aria-valuenow", "100")


def test_the_cause_is_found_the_url_mended_and_the_letters_drain(
    desk: Page, channel: Channel, receiver: Receiver
) -> None:
    raise_alarm_above(desk, channel, MANY - 1)
    status = overview(desk)
    expect(status).to_contain_text(re.compile(r"^\s*0\s+open dead letters"))
    publish(channel, 10)
    look_until(desk, status, "10 open dead letters")
    publish(channel, MANY - 10)
    look_until(desk, status, f"{MANY} open dead letters")
    alarm = desk.get_by_role("region", name="Open alerts")
    look_until(desk, alarm, f"{channel.name} More than {MANY - 1} open letters: {MANY} when it began.")

    cause = desk.get_by_role("region", name="By cause").get_by_role("listitem")
    expect(cause).to_have_count(1)
    expect(cause).to_contain_text(re.compile(rf"{MANY}\s+http_4xx\s+HTTP 404"))
    cause.get_by_role("link").click()
    expect(desk.locator("#result_list tbody tr")).to_have_count(MANY)
    desk.locator("#result_list tbody th a").first.click()
    expect(desk.get_by_label("Last error")).to_contain_text("404")
    mend_the_url(desk, f"{receiver.url}/hook")

    overview(desk)
    alarm.get_by_role("link", name=channel.name).click()
    desk.get_by_role("button", name="Requeue all that match").click()
    expect(desk.get_by_text(f"Requeue all that match: {MANY}?").first).to_be_visible()
    desk.get_by_label("At most so many a second").fill("4")
    desk.get_by_role("button", name=f"Yes, requeue {MANY}").click()
    watch_to_its_end(desk)

    look_until(desk, overview(desk), "0 open dead letters")
    wait_until(lambda: len([one for one in list(receiver.deliveries) if one.path == "/hook"]) == MANY, SECONDS)
    lost, got = ({one.message_id for one in receiver.deliveries if one.path == path} for path in ("/old", "/hook"))
    assert lost == got
    assert len(got) == MANY
    wait_until(lambda: not (desk.reload() and alarm.count()), SECONDS)
    sidebar(desk, "Alerts").click()
    expect(desk.locator("#result_list tbody tr").first).to_contain_text(re.compile("over", re.IGNORECASE))


def test_a_letter_is_edited_sent_again_and_arrives(desk: Page, channel: Channel, receiver: Receiver) -> None:
    receiver.answer = lambda delivery: 422 if b"nineteen" in delivery.body else 200
    before = channel.publish(b'{"price": "nineteen"}').headers["Location"]
    look_until(desk, overview(desk), "1 open dead letter.")
    desk.get_by_role("region", name="By cause").get_by_role("link").click()
    desk.locator("#result_list tbody th a").first.click()
    desk.get_by_role("link", name="Edit and resend").click()
    desk.get_by_label("Payload").fill('{"price": 19}')
    desk.get_by_label("Why, for whoever looks").fill("prices are numbers")
    desk.get_by_role("button", name="Send it like this").click()
    expect(desk.get_by_text("Edited and sent again as").first).to_be_visible()
    expect(desk.get_by_label("What the edit changed")).to_contain_text('+  "price": 19')

    bodies = [b'{"price": "nineteen"}', b'{"price": 19}']
    wait_until(lambda: [one.body for one in receiver.deliveries] == bodies, SECONDS)
    assert channel.statuses(before) == ["DEAD"]
    first, second = receiver.deliveries
    assert first.message_id != second.message_id
    look_until(desk, overview(desk), "0 open dead letters")
