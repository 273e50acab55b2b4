"""Staff follow a message in a real browser, with an engine that runs: its life, a copied command, a test message."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.axe import violations
from tests.acceptance.browser import faultless_page, is_within, launched
from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until
from tests.acceptance.test_admin_browser import PASSWORD, log_in, sidebar

SECONDS = 60.0
EVIL = b'{"note": "<img src=x onerror=document.title=1><script>document.title=1</script>", "it\'s": "$HOME"}'


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    own_engine.broker.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
    who = ("--username", "operator", "--email", "operator@example.com")
    own_engine.broker.manage("createsuperuser", "--noinput", *who)
    return own_engine


@pytest.fixture
def desk(engine: Engine) -> Iterator[Page]:
    """The browser, with staff logged in."""
    with launched() as browser, faultless_page(browser) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        log_in(page, str(engine.web.base_url).rstrip("/"))
        yield page


@pytest.fixture
def second() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def channel(engine: Engine, receiver: Receiver, second: Receiver) -> Channel:
    """Two consumers: the first fails twice before it takes anything, the second is well."""
    receiver.answer = lambda delivery: 200 if int(delivery.headers["x-broker-attempt"]) > 2 else 503
    policy = {"retries": 3, "initialSeconds": 3, "factor": 1, "jitter": "none"}
    made = engine.channel(receiver, retryPolicy=policy)
    other = {"callbackUrl": f"{second.url}/hook", "token": "other"}
    assert engine.web.put(f"/channel/{made.name}/consumer/well", json=other).status_code == 201
    return made


def open_life(desk: Page, channel: Channel, message_id: str) -> None:
    """As staff do: by the sidebar, and the id."""
    sidebar(desk, "Explorer").click()
    desk.get_by_label("Message id").fill(message_id)
    desk.get_by_role("button", name="Search").click()
    desk.get_by_role("link", name=message_id, exact=True).click()
    expect(desk.get_by_role("heading", name="Timeline")).to_be_visible()


def lane(desk: Page, consumer: str) -> Any:
    return desk.get_by_role("region", name=f"Consumer {consumer}")


def test_a_life_grows_while_it_is_watched_and_stops_at_its_end(
    desk: Page, channel: Channel, receiver: Receiver
) -> None:
    published = channel.publish(EVIL, Message_ID="order-7")
    assert published.status_code == 201
    open_life(desk, channel, "order-7")
    desk.evaluate("window.stayed = true")
    bars = desk.locator("svg.life-wide rect.life-bar:not(.life-wait)")
    expect(lane(desk, "k").get_by_text("Attempt 1: HTTP 503")).to_be_visible()
    lane(desk, "k").get_by_text("The request").first.click()
    expect(lane(desk, "k").get_by_text("Attempt 2: HTTP 503")).to_be_visible(timeout=30_000)
    expect(lane(desk, "k").get_by_text("Attempt 3: HTTP 200")).to_be_visible(timeout=30_000)
    # What was opened is still open, on the same page.
    expect(lane(desk, "k").locator("details").first).to_have_attribute("open", "")
    assert desk.evaluate("window.stayed")
    expect(bars).to_have_count(4)
    expect(desk.get_by_text("Nothing more will happen by itself.")).to_be_visible()
    expect(desk.locator(".payload")).to_contain_text("<script>")
    expect(desk).to_have_title(re.compile("^order-7"))
    assert len(receiver.of("order-7")) == 3


def test_a_copied_command_publishes_the_message_again(
    desk: Page, channel: Channel, engine: Engine, second: Receiver
) -> None:
    payload = bytes(range(256))
    metadata = {"Message_ID": "binary", "Metadata_Headers": "X-Kept"}
    head = {"X-Kept": 'it\'s "kept" $HOME'}
    engine.web.headers.update(head)
    assert channel.publish(payload, **metadata).status_code == 201
    engine.web.headers.pop("X-Kept")
    wait_until(lambda: len(second.of("binary")) == 1, SECONDS)
    open_life(desk, channel, "binary")
    desk.get_by_role("button", name="Copy as curl").last.click()
    expect(desk.get_by_role("button", name="Copied")).to_be_visible()
    command = str(desk.evaluate("navigator.clipboard.readText()"))
    for secret in ("open", "sell"):
        assert f": {secret}" not in command
    here = command.replace("http://127.0.0.1:8000", str(engine.web.base_url).rstrip("/"))
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "CHANNEL_TOKEN": "open", "PRODUCER_TOKEN": "sell"}
    done = subprocess.run(["sh", "-c", here], env=environment, capture_output=True, text=True, check=True, timeout=30)
    assert "201 Created" in done.stdout, done.stdout + done.stderr
    wait_until(lambda: len(second.deliveries) == 2, SECONDS)
    again = second.deliveries[-1]
    assert again.body == payload
    assert again.headers["x-kept"] == head["X-Kept"]
    assert again.message_id != "binary"


def test_a_copied_request_reaches_the_consumer(desk: Page, channel: Channel, second: Receiver) -> None:
    assert channel.publish(EVIL, Message_ID="again").status_code == 201
    wait_until(lambda: len(second.of("again")) == 1, SECONDS)
    open_life(desk, channel, "again")
    lane(desk, "well").get_by_text("The request").click()
    lane(desk, "well").get_by_role("button", name="Copy as curl").click()
    expect(lane(desk, "well").get_by_role("button", name="Copied")).to_be_visible()
    command = str(desk.evaluate("navigator.clipboard.readText()"))
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "CONSUMER_TOKEN": "other", "WEBHOOK_SIGNATURE": "v1,x"}
    subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=True, timeout=30)
    first, copied = second.of("again")
    unlike = {"webhook-signature", "webhook-timestamp", "accept", "accept-encoding", "host", "connection"}
    assert copied.body == first.body == EVIL
    for name in first.headers.keys() - unlike:
        assert copied.headers[name] == first.headers[name], name


def test_a_test_message_to_one_consumer_reaches_it_alone(
    desk: Page, channel: Channel, receiver: Receiver, second: Receiver
) -> None:
    sidebar(desk, "Explorer").click()
    desk.get_by_role("link", name="Send a test message").click()
    desk.get_by_label("Channel").fill(channel.name)
    desk.get_by_label("Consumer").fill("well")
    desk.get_by_label("Producer").fill("shop")
    desk.get_by_label("Payload").fill('{"try": "this"}')
    desk.get_by_role("button", name="Send it").click()
    expect(lane(desk, "well").get_by_text("The consumer has it.")).to_be_visible(timeout=30_000)
    expect(desk.locator(".timeline-text").filter(has_text="Sent as a test to consumer well")).to_be_visible()
    expect(desk.get_by_role("region", name=re.compile("^Consumer"))).to_have_count(1)
    [got] = second.deliveries
    assert (got.body, got.headers["x-broker-test"]) == (b'{"try": "this"}', "true")
    desk.get_by_role("link", name="Send a test message", exact=False).first.click()
    desk.get_by_label("Payload").fill("to all")
    desk.get_by_role("button", name="Send it").click()
    wait_until(lambda: b"to all" in [one.body for one in list(receiver.deliveries)], SECONDS)
    wait_until(lambda: len(second.deliveries) == 2, SECONDS)
    assert {one.body for one in receiver.deliveries} == {b"to all"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_fits_a_phone_and_can_be_read_by_everybody_in_both_themes(
    desk: Page, channel: Channel, second: Receiver, scheme: Any
) -> None:
    message_id = f"phone-{scheme}"
    assert channel.publish(EVIL, Message_ID=message_id).status_code == 201
    wait_until(lambda: len(second.of(message_id)) == 1, SECONDS)
    desk.emulate_media(color_scheme=scheme)
    open_life(desk, channel, message_id)
    expect(lane(desk, "well").get_by_text("The consumer has it.")).to_be_visible(timeout=30_000)
    life = desk.url
    assert violations(desk, "#content") == []
    desk.set_viewport_size({"width": 390, "height": 844})
    expect(desk.locator("svg.life-wide")).to_be_hidden()
    expect(desk.locator("svg.life-narrow")).to_be_visible()
    assert is_within(desk, ".timeline-moment, .explorer-card, .explorer-command, .life-box, svg.life-narrow text")
    # Drawn in the size in which it is shown, so that its words can be read.
    assert float(desk.locator("svg.life-narrow").evaluate("(svg) => svg.getScreenCTM().a")) > 0.9
    assert violations(desk, "#content") == []
    explorer = life.split("/explorer/", maxsplit=1)[0] + "/explorer/"
    desk.goto(explorer)
    expect(desk.get_by_role("region", name="Results")).to_be_visible()
    assert is_within(desk, ".explorer-card, .explorer-table tr")
    assert violations(desk, "#content") == []
    desk.goto(f"{explorer}send/")
    expect(desk.get_by_role("button", name="Send it")).to_be_visible()
    assert is_within(desk, ".explorer-card")
    assert violations(desk, "#content") == []
