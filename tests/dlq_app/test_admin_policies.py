"""A channel's dead letter policy in the admin: one page a channel, changed by those who may, and audited."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from structlog.testing import capture_logs

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import Channel
from dlq_app import policies
from dlq_app.models import DeadLetterPolicy
from tests.channels_app import illegal_ids
from tests.channels_app.registry import make_channel
from tests.channels_app.staff import history, log_in, opened, page, pages
from tests.channels_app.test_admin_messages import SCRIPT

pytestmark = pytest.mark.django_db

OFF = {"retention_days": None, "auto_redrive": False, "alert_depth": None, "alert_age_seconds": None}


def page_of(channel: Channel) -> str:
    return page(DeadLetterPolicy(channel=channel))


def kept(channel: Channel) -> dict[str, Any]:
    return DeadLetterPolicy.objects.values(*OFF).get(channel=channel)


def save(client: Client, channel: Channel, **typed: Any) -> Any:
    """As a browser posts it: with what the fields held when the page was opened."""
    seen = opened(client, page_of(channel))
    held = {f"initial-{name}": value for name, value in seen.items()}
    return client.post(page_of(channel), {**held, **seen, **typed}, follow=True)


def test_a_channel_without_a_policy_has_a_page_on_which_all_is_off(admin_client: Client, channel: Channel) -> None:
    shown = admin_client.get(page_of(channel))

    assert "The channel keeps its dead letters." in shown.content.decode()
    assert not DeadLetterPolicy.objects.exists()
    save(admin_client, channel)
    assert not DeadLetterPolicy.objects.exists()


def test_a_change_is_kept_logged_and_in_the_history(admin_client: Client, channel: Channel) -> None:
    with capture_logs() as logs:
        save(admin_client, channel, retention_days="30", auto_redrive="on", alert_depth="100")
    save(admin_client, channel, alert_depth="", alert_age_seconds="3600")

    assert kept(channel) == {"retention_days": 30, "auto_redrive": True, "alert_depth": None, "alert_age_seconds": 3600}
    told = [entry for entry in logs if entry["event"] == "dead_letters.policy_changed"]
    assert [(entry["by"], entry["fields"]) for entry in told] == [
        ("admin", ["alert_depth", "auto_redrive", "retention_days"])
    ]
    first, second = history(DeadLetterPolicy(channel=channel))
    assert "Kept for (days)" in first
    assert "Alert above (open letters)" in second
    assert "Kept for (days)" not in second


def test_what_somebody_else_changed_meanwhile_stays(admin_client: Client, channel: Channel) -> None:
    policies.put(channel, values={"alert_depth": 5, "retention_days": 7}, by="anna")
    held = opened(admin_client, page_of(channel))
    policies.put(channel, values={"retention_days": 90}, by="berta")
    initial = {f"initial-{name}": value for name, value in held.items()}

    admin_client.post(page_of(channel), {**initial, **held, "alert_depth": "6"})

    assert kept(channel) == {**OFF, "alert_depth": 6, "retention_days": 90}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"retention_days": "0"}, "greater than or equal to 1"),
        ({"retention_days": "36501"}, "less than or equal to 36500"),
        ({"alert_depth": "many"}, "Enter a whole number"),
        ({"alert_depth": "1000000001"}, "less than or equal to 1000000000"),
        ({"alert_age_seconds": "-1"}, "greater than or equal to 1"),
        ({"alert_age_seconds": SCRIPT}, "Enter a whole number"),
    ],
)
def test_what_is_not_valid_is_told_and_changes_nothing(
    admin_client: Client, channel: Channel, typed: dict[str, str], told: str
) -> None:
    answer = save(admin_client, channel, **typed)

    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert SCRIPT not in answer.content.decode()
    assert not DeadLetterPolicy.objects.exists()


def test_a_policy_is_added_for_a_channel_and_only_once(admin_client: Client, channel: Channel) -> None:
    add = pages(DeadLetterPolicy, "add")
    assert admin_client.post(add, {"channel": channel.pk, "alert_depth": "3"}).status_code == 302
    assert kept(channel) == {**OFF, "alert_depth": 3}

    again = admin_client.post(add, {"channel": channel.pk, "alert_depth": "4"})

    assert "already exists" in again.content.decode()
    assert kept(channel) == {**OFF, "alert_depth": 3}


def test_the_channels_page_leads_there_and_says_keep_or_drop_itself(admin_client: Client, channel: Channel) -> None:
    shown = admin_client.get(page(channel)).content.decode()
    assert f'href="{page_of(channel)}"' in shown
    assert 'name="dead_letters"' in shown
    dropping = make_channel("noise", dead_letters="drop")
    assert "The channel keeps no dead letters" in admin_client.get(page_of(dropping)).content.decode()


def test_who_may_only_look_sees_no_button_and_is_refused(channel: Channel) -> None:
    client = log_in("view_deadletterpolicy")

    shown = client.get(page_of(channel))
    assert shown.status_code == 200
    assert 'name="_save"' not in shown.content.decode()
    assert "/add/" not in client.get(pages(DeadLetterPolicy)).content.decode()
    assert client.post(page_of(channel), {"alert_depth": "1"}).status_code == 403
    assert client.get(pages(DeadLetterPolicy, "add")).status_code == 403
    assert client.post(pages(DeadLetterPolicy, "add"), {"channel": channel.pk}).status_code == 403
    assert not DeadLetterPolicy.objects.exists()


def test_who_may_change_is_enough_and_others_see_nothing(channel: Channel) -> None:
    client = log_in("change_deadletterpolicy")
    save(client, channel, alert_depth="9")
    assert kept(channel)["alert_depth"] == 9
    assert client.get(page(channel)).status_code == 403


def test_a_stranger_sees_nothing_not_even_a_link(channel: Channel) -> None:
    client = log_in("view_channel")
    for address in (page_of(channel), pages(DeadLetterPolicy)):
        assert client.get(address).status_code == 403
    assert page_of(channel) not in client.get(page(channel)).content.decode()


def test_nobody_deletes_one_and_that_of_a_deleted_channel_is_only_looked_at(
    admin_client: Client, channel: Channel
) -> None:
    policies.put(channel, values={"alert_depth": 5}, by="anna")
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))

    assert admin_client.get(page_of(channel)).status_code == 200
    assert admin_client.post(page_of(channel), {"alert_depth": "1"}).status_code == 403
    assert admin_client.post(page(DeadLetterPolicy(channel=channel), "delete"), {"post": "yes"}).status_code == 403
    assert kept(channel)["alert_depth"] == 5


@pytest.mark.parametrize("number", ["0", "999999", "x", "9" * 30])
def test_a_page_of_no_channel_is_no_error(admin_client: Client, number: str) -> None:
    address = page(DeadLetterPolicy(pk=1)).replace("/1/", f"/{number}/")
    assert admin_client.get(address).status_code == 302


def test_policies_are_found_and_cost_the_same_however_many(admin_client: Client, channel: Channel) -> None:
    policies.put(channel, values={"auto_redrive": True}, by="anna")
    address, spent = pages(DeadLetterPolicy), []
    for count in (1, 15):
        for number in range(count):
            policies.put(make_channel(f"c{count}-{number}"), values={"alert_age_seconds": 5400}, by="anna")
        with CaptureQueriesContext(connection) as queries:
            shown = admin_client.get(address).content.decode()
        spent.append(len(queries))
    assert spent[0] == spent[1]
    assert "1 hour, 30 minutes" in shown

    def found(**query: str) -> list[str]:
        return [str(row) for row in admin_client.get(address, query).context["cl"].result_list]

    assert found(q="c15-7") == ["c15-7"]
    assert found(auto_redrive__exact="1") == found(alerts="off") == ["orders"]
    assert len(found(alerts="on")) == 16


def test_a_channels_name_is_text(admin_client: Client, channel: Channel) -> None:
    policies.put(channel, values={"alert_depth": 5}, by="anna")
    illegal_ids.rename(channel, SCRIPT)
    for address in (page_of(channel), pages(DeadLetterPolicy)):
        shown = admin_client.get(address).content.decode()
        assert "&lt;script&gt;alert" in shown
        assert SCRIPT not in shown
