"""Alert rules in a real browser: made, changed, and refused where they make no sense."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from channels_app.models import Alert, AlertKind
from tests.acceptance.axe import violations
from tests.acceptance.browser import browser_page, chromium, is_within
from tests.acceptance.test_admin_browser import admin, sidebar
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.registry import make_channel
from tests.channels_app.staff import page as page_of
from tests.channels_app.staff import pages
from watch_app.models import AlertRule

__all__ = ["admin", "browser_page", "chromium"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _only_rules_of_the_case(transactional_db: None) -> None:
    AlertRule.objects.all().delete()


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        field = page.locator(f"#id_{name}")
        if field.evaluate("(field) => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)


def save(page: Page) -> None:
    page.locator("button[name=_save]").click()


def test_a_rule_is_made_changed_and_switched_off(admin: Page, live_server: Any) -> None:
    expect(sidebar(admin, "Alert rules")).to_be_visible()
    admin.goto(f"{live_server.url}{pages(AlertRule, 'add')}")
    fill(admin, name="Slow shop", kind="oldest_waiting", threshold="120", hold_seconds="30")
    fill(admin, addresses="anna@example.com,ben@example.com")
    save(admin)
    expect(admin.get_by_text("above 2 minutes")).to_be_visible()
    rule = AlertRule.objects.get()
    assert (rule.threshold, rule.hold_seconds) == (120, 30)
    assert rule.addresses == ["anna@example.com", "ben@example.com"]

    admin.locator("#result_list").get_by_role("link", name="Slow shop").click()
    fill(admin, threshold="90")
    admin.locator("#id_enabled").uncheck()
    save(admin)
    expect(admin.get_by_text("above 1 minute, 30 seconds")).to_be_visible()
    assert not AlertRule.objects.get().enabled


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"kind": "success_rate", "threshold": "101"}, "more than 0, at most 100"),
        ({"kind": "depth", "threshold": "-1"}, "greater than or equal to 0"),
        ({"kind": "depth", "threshold": "5", "hold_seconds": "90000"}, "less than or equal to 86400"),
        ({"kind": "depth", "threshold": "5", "addresses": "anna"}, "valid email"),
    ],
    ids=["a rate of more than all", "less than nothing", "held for more than a day", "nobody's address"],
)
def test_a_rule_that_makes_no_sense_is_refused(
    admin: Page, live_server: Any, values: dict[str, str], complaint: str
) -> None:
    admin.goto(f"{live_server.url}{pages(AlertRule, 'add')}")
    fill(admin, name="Odd", **values)
    # What the browser itself would refuse is tried all the same.
    admin.locator("form#alertrule_form").evaluate("(form) => { form.noValidate = true }")
    save(admin)
    expect(admin.get_by_text(complaint).first).to_be_visible()
    assert not AlertRule.objects.exists()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_fit_a_desk_and_a_phone_in_both_themes(
    admin: Page, live_server: Any, scheme: Any, width: int
) -> None:
    rule = AlertRule.objects.create(name="Slow shop", kind=AlertKind.OLDEST_WAITING, threshold=120)
    alert = make_alert(make_channel("orders"))
    admin.emulate_media(color_scheme=scheme)
    admin.set_viewport_size({"width": width, "height": 844})
    places = (
        (pages(AlertRule), "#result_list"),
        (page_of(rule), "#alertrule_form"),
        (pages(Alert), "#result_list"),
        (page_of(alert), ".readonly"),
    )
    for path, part in places:
        admin.goto(f"{live_server.url}{path}")
        expect(admin.locator(part).first).to_be_visible()
        assert is_within(admin, part)
        if path == page_of(rule):
            expect(admin.get_by_role("combobox", name="Consumer")).to_be_visible()
        assert violations(admin, "#content") == []
