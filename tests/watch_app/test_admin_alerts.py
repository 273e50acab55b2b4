"""Alerts in the admin: the open ones on the overview, every episode in a list that is only looked at."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.alerts.news import untold
from channels_app.alerts.watching import watch
from channels_app.models import Alert, Channel, Consumer, Producer
from dlq_app import policies
from dlq_app.models import DeadLetter, DeadLetterPolicy
from tests.channels_app.registry import make_channel
from tests.channels_app.staff import log_in, page, pages
from tests.channels_app.test_admin_messages import SCRIPT
from tests.dlq_app.letters import make_dead

pytestmark = pytest.mark.django_db

OVERVIEW = "admin:dlq_app_deadletter_overview"


def episode(channel: Channel, *, kind: str = "depth", over: bool = False, **values: Any) -> Alert:
    ended = {"ended_at": timezone.now()} if over else {}
    now = timezone.now()
    known = {"threshold": 100, "value": 117, "crossed_at": now, "began_at": now, **ended, **values}
    return Alert.objects.create(
        rule_key=f"policy-{kind}-{channel.pk}", rule="Dead letter policy", channel=channel, kind=kind, **known
    )


def overview(client: Client) -> str:
    return client.get(reverse(OVERVIEW)).content.decode()


def found(client: Client, **query: Any) -> list[int]:
    return [row.pk for row in client.get(pages(Alert), query).context["cl"].result_list]


def test_an_alert_is_on_the_overview_from_when_it_began_until_it_is_over(
    admin_client: Client, channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    assert "Open alerts" not in overview(admin_client)
    for _ in range(2):
        make_dead(consumer, producer)
    watch(timezone.now())

    shown = overview(admin_client)
    assert "More than 1 open letter: 2 when it began." in shown
    assert f'{pages(DeadLetter)}?channel__id__exact={channel.pk}">orders' in shown
    assert pages(Alert) in shown

    DeadLetter.objects.update(resolution="discarded", resolved_at=timezone.now())
    watch(timezone.now())
    assert "Open alerts" not in overview(admin_client)


def test_an_old_letter_is_told_in_words(admin_client: Client, channel: Channel) -> None:
    episode(channel, kind="age", threshold=5400, value=5407)
    assert "The oldest letter has waited for more than 1 hour, 30 minutes." in overview(admin_client)


def test_an_alert_whose_mail_no_server_takes_says_so(admin_client: Client, channel: Channel) -> None:
    alert = episode(channel, mail_tries=5)
    assert "not taken yet, tries: 5" in admin_client.get(page(alert)).text
    Alert.objects.update(began_mailed_at=timezone.now())
    assert "not taken yet" not in admin_client.get(page(alert)).text


@pytest.mark.parametrize(
    ("hours", "said"), [(23, "not taken yet, tries: 60"), (25, "not taken, given up")], ids=["tried", "given up"]
)
def test_mail_of_an_alert_that_is_long_over_is_given_up(
    admin_client: Client, channel: Channel, hours: int, said: str
) -> None:
    """As long as the page says that it is tried, it is."""
    ended = timezone.now() - timedelta(hours=hours)
    alert = episode(channel, began_at=ended, ended_at=ended, mail_tries=60, addresses=["a@example.com"])
    assert admin_client.get(page(alert)).text.count(said) == 2
    assert [one.alert for one in untold("mailed", timezone.now())] == ([alert] * 2 if hours < 24 else [])


def test_the_overview_shows_some_and_says_that_there_are_more(admin_client: Client) -> None:
    spent = []
    for count in (1, 11):
        for number in range(count):
            episode(make_channel(f"c{count}-{number}"))
        with CaptureQueriesContext(connection) as queries:
            shown = overview(admin_client)
        spent.append(len(queries))
    assert spent[0] == spent[1]
    assert shown.count("More than 100 open letters") == 10
    assert "The newest 10; there are more." in shown


def test_every_episode_is_listed_with_who_was_told_when(admin_client: Client, channel: Channel) -> None:
    told = timezone.now() - timedelta(days=3)
    past = episode(channel, over=True, began_posted_at=told)
    now = episode(channel, kind="age")
    other = episode(make_channel("other"))

    assert found(admin_client) == [other.pk, now.pk, past.pk]
    assert found(admin_client, state="open") == [other.pk, now.pk]
    assert found(admin_client, state="over") == [past.pk]
    assert found(admin_client, kind__exact="age") == [now.pk]
    assert found(admin_client, channel__id__exact=channel.pk) == [now.pk, past.pk]
    shown = admin_client.get(page(past)).content.decode()
    assert f"{told:%Y-%m-%d %H:%M:%S} UTC" in shown
    assert f'href="{page(DeadLetterPolicy(channel=channel))}"' in shown


def test_open_ones_come_first_and_among_them_the_one_that_began_last(admin_client: Client, channel: Channel) -> None:
    now = timezone.now()
    held = episode(channel, began_at=now)
    early = episode(channel, kind="age", began_at=now - timedelta(minutes=1))
    over = episode(make_channel("other"), over=True)

    assert found(admin_client) == [held.pk, early.pk, over.pk]


def test_a_consumer_is_named_with_its_channel_and_has_a_list_of_its_own(
    admin_client: Client, channel: Channel, consumer: Consumer
) -> None:
    episode(channel)
    alert = episode(channel, kind="oldest_waiting", consumer=consumer)

    assert found(admin_client, state="open", consumer__id__exact=consumer.pk) == [alert.pk]
    named = f'<a href="{page(consumer)}" class="text-link">orders / billing</a>'
    assert named in admin_client.get(pages(Alert)).content.decode()


@pytest.mark.parametrize("query", [{"state": "stone"}, {"kind__exact": "x"}, {"p": "x"}, {"channel__token": "x"}])
def test_a_mistyped_address_is_no_error(admin_client: Client, channel: Channel, query: dict[str, str]) -> None:
    episode(channel)
    assert admin_client.get(pages(Alert), query, follow=True).status_code < 500


def test_pages_of_episodes_follow_their_ids_and_cost_the_same(
    admin_client: Client, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [episode(channel, over=True).pk]
    with CaptureQueriesContext(connection) as few:
        found(admin_client)
    made += [episode(make_channel(f"c{number}"), over=True).pk for number in range(20)]
    with CaptureQueriesContext(connection) as many:
        found(admin_client)
    assert len(few) == len(many)

    monkeypatch.setattr("watch_app.admin.alerts.AlertAdmin.list_per_page", 8)
    seen = [found(admin_client, p=number) for number in (1, 2, 3)]
    assert [pk for rows in seen for pk in rows] == made[::-1]


def test_nobody_changes_an_episode(admin_client: Client, channel: Channel) -> None:
    alert = episode(channel)
    for address in (page(alert), page(alert, "delete"), pages(Alert, "add")):
        assert admin_client.post(address, {"threshold": "1", "post": "yes"}).status_code == 403
    assert Alert.objects.get().threshold == 100


def test_who_sees_letters_sees_open_alerts_and_who_sees_neither_is_refused(channel: Channel) -> None:
    alert = episode(channel)
    client = log_in("view_deadletter")
    shown = overview(client)
    assert "More than 100 open letters" in shown
    assert "All alerts" not in shown
    for address in (page(alert), pages(Alert)):
        assert client.get(address).status_code == 403


def test_a_rules_name_is_text(admin_client: Client, channel: Channel) -> None:
    alert = episode(channel)
    Alert.objects.update(rule=SCRIPT)
    for address in (page(alert), pages(Alert)):
        shown = admin_client.get(address).content.decode()
        assert "&lt;script&gt;alert" in shown
        assert SCRIPT not in shown
