"""Staff on a bad day in a real browser: what grows and why, one letter's story, and what mends it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from channels_app.models import Consumer, DeliveryJob, JobStatus, Message, Operation, Producer
from channels_app.operations import acts
from dlq_app.models import DeadLetter
from tests.acceptance.browser import browser_page, chromium
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.traffic import make_attempt
from tests.dlq_app.letters import die, make_dead

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

MARKUP = "<img src=x onerror=document.title=1><script>document.title=1</script>"
ERRORS = (
    ("http_5xx", 9, {"status_code": 503, "answer": "the ledger is locked"}),
    ("timeout", 5, {"status_code": None, "error": "No answer after 30 s"}),
    ("refused", 3, {"status_code": None, "error": "Connection refused by 10.1.2.3:8443"}),
    ("http_4xx", 1, {"status_code": 422, "answer": f"no such order {MARKUP}"}),
)


@pytest.fixture
def producer(live_server: Any) -> Producer:
    return make_producer("shop")


@pytest.fixture
def consumer(producer: Producer) -> Consumer:
    return make_consumer(make_channel("orders"), "billing")


@pytest.fixture
def letters(consumer: Consumer, producer: Producer) -> list[DeadLetter]:
    """Growing, of four causes, two consumers; the last one is told with markup everywhere."""
    mail = make_consumer(consumer.channel, "mail")
    made = [
        make_dead(mail if reason == "refused" else consumer, producer, reason=reason, **attempt)
        for reason, count, attempt in ERRORS
        for _ in range(count)
    ]
    for place, letter in enumerate(made[:-2]):
        ago = timedelta(hours=(len(made) - place) ** 2 / 12)
        DeadLetter.objects.filter(pk=letter.pk).update(entered_at=timezone.now() - ago)
    last = made[-1]
    Message.objects.filter(pk=last.message_id).update(
        payload=f'{{"order": "7", "note": "{MARKUP}", "price": 19.90}}'.encode(), headers={"X-Note": MARKUP}
    )
    return made


def tell_more(letter: DeadLetter) -> None:
    """It has been queued again in vain."""
    job = DeliveryJob.objects.get(pk=letter.job_id)
    DeliveryJob.objects.filter(pk=job.pk).update(status=JobStatus.QUEUED, attempt=2)
    make_attempt(job, 2, status_code=422, reason="http_4xx", answer=MARKUP)
    job.refresh_from_db()
    DeliveryJob.objects.filter(pk=job.pk).update(status=JobStatus.QUEUED, attempt=3)
    job.refresh_from_db()
    die(job, reason="http_4xx", status_code=422, answer=f"no such order {MARKUP}")


def overview(admin: Page) -> None:
    admin.goto(re.sub(r"/admin/.*", "/admin/dlq_app/deadletter/overview/", admin.url))


def fits(admin: Page, width: int) -> bool:
    return int(admin.evaluate("document.documentElement.scrollWidth")) <= width


def test_a_cause_is_found_on_the_overview_and_its_letters_are_requeued(admin: Page, letters: list[DeadLetter]) -> None:
    admin.locator("#nav-sidebar-apps a[href$='/deadletter/overview/']").click()
    expect(admin.get_by_role("status")).to_contain_text("18 open dead letters.")
    causes = admin.get_by_role("region", name="By cause").get_by_role("listitem")
    expect(causes).to_have_count(4)
    expect(causes.first).to_contain_text(re.compile(r"9\s+http_5xx\s+HTTP 503: the ledger is locked"))
    expect(admin.get_by_role("region", name="By consumer").get_by_role("listitem").first).to_contain_text("15")
    causes.nth(1).get_by_role("link").click()
    rows = admin.locator("#result_list tbody tr")
    expect(rows).to_have_count(5)
    for box in admin.locator("input.action-select").all()[:2]:
        box.check()
    admin.locator("select[name=action]").select_option("requeue")
    admin.get_by_role("button", name="Run").click()
    expect(admin.get_by_text("Requeue 2 dead letters?").first).to_be_visible()
    admin.get_by_label("Why, for whoever looks").fill("it answers again")
    admin.get_by_role("button", name="Yes, requeue").click()
    expect(admin.get_by_text("Requeued: 2 dead letters.")).to_be_visible()
    expect(rows).to_have_count(3)
    assert DeliveryJob.objects.filter(status=JobStatus.QUEUED).count() == 2


def test_a_letter_tells_its_story_as_text_and_is_discarded(admin: Page, letters: list[DeadLetter]) -> None:
    tell_more(letters[-1])
    sidebar(admin, "Dead letters").last.click()
    admin.locator("#searchbar").fill("such ORDER")
    admin.locator("#searchbar").press("Enter")
    expect(admin.locator("#result_list tbody tr")).to_have_count(1)
    admin.locator("#result_list tbody th a, #result_list tbody td a").first.click()
    expect(admin.locator(".timeline-moment")).to_contain_text(["failed", "failed", "failed", "dead", "entered"])
    expect(admin.locator(".payload")).to_contain_text("<script>")
    expect(admin.locator(".headers")).to_contain_text("<img src=x")
    assert admin.title() != "1"
    assert admin.locator("img[src=x]").count() == 0
    admin.get_by_role("button", name="Discard").click()
    expect(admin.get_by_text("Discard 1 dead letter?").first).to_be_visible()
    admin.get_by_role("button", name="Yes, discard").click()
    expect(admin.get_by_role("status").first).to_contain_text("by operator")
    expect(admin.get_by_role("button", name="Discard")).to_have_count(0)
    admin.get_by_role("link", name="History").click()
    expect(admin.get_by_role("table")).to_contain_text("Discarded")
    assert DeadLetter.objects.open().count() == 17


def test_a_letter_is_edited_and_sent_again(admin: Page, letters: list[DeadLetter]) -> None:
    overview(admin)
    admin.goto(re.sub("overview/", f"{letters[-1].job_id}/change/", admin.url))
    admin.get_by_role("link", name="Edit and resend").click()
    expect(admin.get_by_label("Payload")).to_have_value(re.compile('"order": "7"'))
    admin.get_by_role("button", name="Send it like this").click()
    expect(admin.get_by_role("alert")).to_contain_text("Nothing was changed")
    admin.get_by_label("Payload").fill('{"order": "8"}')
    admin.get_by_role("button", name="Send it like this").click()
    expect(admin.get_by_text("Edited and sent again as").first).to_be_visible()
    expect(admin.get_by_label("What the edit changed")).to_contain_text('+  "order": "8"')
    admin.get_by_role("link", name="Message sent instead").click()
    expect(admin.locator(".payload")).to_contain_text('"order": "8"')
    assert DeadLetter.objects.open().count() == 17


def test_all_that_match_become_an_operation(admin: Page, consumer: Consumer, letters: list[DeadLetter]) -> None:
    overview(admin)
    admin.get_by_role("region", name="By consumer").get_by_role("link", name="billing").click()
    admin.get_by_role("button", name="Requeue all that match").click()
    expect(admin.get_by_text("Requeue all that match: 15?").first).to_be_visible()
    expect(admin.locator("form").last).to_contain_text("no such order <img")
    admin.get_by_label("At most so many a second").fill("100")
    admin.get_by_role("button", name="Yes, requeue 15").click()
    expect(admin.get_by_text("Started: operation")).to_be_visible()
    operation = Operation.objects.get()
    assert operation.parameters["filter"] == {"consumer_id": consumer.pk}


def test_an_operation_is_watched_stopped_and_resumed(admin: Page, consumer: Consumer) -> None:
    operation = acts.start(kind="watched", channel=consumer.channel, parameters={}, until=None, by="operator")
    moves = Operation.objects.filter(pk=operation.pk)
    moves.begin(total=40)
    sidebar(admin, "Operations").last.click()
    admin.get_by_role("link", name=operation.public_id).click()
    bar = admin.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", "0")
    moves.advance(cursor=10, done=10, failed=0)
    expect(bar).to_have_attribute("aria-valuenow", "25")
    expect(admin.get_by_role("status").first).to_contain_text("10 of 40 done")
    admin.get_by_role("button", name="Stop").click()
    expect(admin.get_by_role("status").first).to_contain_text("STOPPING")
    moves.stop()
    expect(admin.get_by_role("status").first).to_contain_text("STOPPED")
    admin.get_by_role("button", name="Resume").click()
    expect(admin.get_by_role("status").first).to_contain_text("RUNNING")
    moves.finish()
    expect(admin.get_by_role("status").first).to_contain_text("DONE")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_a_phone_in_both_themes(admin: Page, letters: list[DeadLetter], scheme: Any) -> None:
    admin.emulate_media(color_scheme=scheme)
    overview(admin)
    admin.set_viewport_size({"width": 390, "height": 844})
    expect(admin.locator(".letters-bar")).to_have_count(24)
    assert admin.locator("html.dark").count() == (scheme == "dark")
    assert fits(admin, 390)
    cards = admin.locator(".letters-card")
    paper, ink = (
        part.evaluate("part => getComputedStyle(part).backgroundColor")
        for part in (cards.first, admin.locator(".letters-fill").first)
    )
    assert paper != ink
    admin.goto(re.sub(r"overview/", f"{letters[-1].job_id}/change/", admin.url))
    expect(admin.locator(".payload")).to_be_visible()
    assert fits(admin, 390)
