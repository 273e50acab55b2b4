"""Messages for later in the admin: found by index, shown whole, and acted on by those who may."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from channels_app.models import Channel, Message, Producer
from scheduling_app import services
from scheduling_app.dispatch import Lane, dispatch_batch
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.registry import make_channel, make_producer
from tests.channels_app.staff import history, log_in, page, pages
from tests.channels_app.test_admin_messages import SCRIPT, listed, plan, text_of
from tests.scheduling_app.later import make_scheduled

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


def found(client: Client, **query: Any) -> list[str]:
    return listed(client, ScheduledMessage, **query)


def act(client: Client, name: str, *rows: ScheduledMessage, **more: Any) -> Any:
    chosen = [row.pk for row in rows]
    return client.post(pages(ScheduledMessage), {"action": name, "_selected_action": chosen, **more}, follow=True)


def said(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def fill(channel: Channel, producer: Producer, count: int = 20_000) -> None:
    """Rows that make a plan worth something: nearly all for next month, one in ten dispatched."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, priority,"
            " headers, status, scheduled_for, due_at, dispatched_at) SELECT %s, %s, 'm-' || n, 'x', 'text/plain', 0,"
            " '{}', CASE WHEN n %% 10 = 0 THEN 101 ELSE 100 END, at, at, CASE WHEN n %% 10 = 0 THEN now() END"
            " FROM generate_series(1, %s) AS n, LATERAL (SELECT now() + interval '30 days' + n * interval '1 second')"
            " AS due (at)",
            [channel.pk, producer.pk, count],
        )
        cursor.execute("ANALYZE scheduled_message, channel")


def test_messages_are_found_by_id_channel_and_status(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    other = make_channel("other")
    make_scheduled(channel, producer, "order-7")
    make_scheduled(other, producer, "order-7", status=ScheduledStatus.CANCELLED)
    make_scheduled(channel, producer, "order-77", status=ScheduledStatus.SET_ASIDE, reason="id_taken")
    assert found(admin_client) == ["order-77", "order-7", "order-7"]
    assert found(admin_client, q=" order-7 ") == ["order-7", "order-7"]
    assert found(admin_client, q="order-7", channel__id__exact=other.pk) == ["order-7"]
    assert found(admin_client, q="order-7", due="hour", status__exact=100) == ["order-7"]
    assert found(admin_client, channel__id__exact=channel.pk) == ["order-77", "order-7"]
    assert found(admin_client, status__exact=103) == ["order-77"]
    assert found(admin_client, status__exact=102) == ["order-7"]
    for nothing in ("order", "order-%", SCRIPT):
        assert found(admin_client, q=nothing) == []


@pytest.mark.parametrize("in_channel", [False, True])
def test_the_time_filter_shows_the_soonest_first(
    admin_client: Client, channel: Channel, producer: Producer, in_channel: bool
) -> None:
    now = timezone.now()
    for name, hours in (("week", 100), ("day", 5), ("hour", 0.5), ("late", -1), ("later", -3), ("month", 700)):
        make_scheduled(channel, producer, name, scheduled_for=now + hours * HOUR, partition=round(abs(hours)) % 3)
    make_scheduled(channel, producer, "gone", scheduled_for=now - HOUR, status=ScheduledStatus.DISPATCHED)
    make_scheduled(channel, producer, "aside", scheduled_for=now - HOUR, status=ScheduledStatus.SET_ASIDE)
    expected = {
        "hour": ["hour"],
        "day": ["hour", "day"],
        "week": ["hour", "day", "week"],
        "overdue": ["later", "late"],
        "aside": ["aside"],
        "nonsense": ["aside", "gone", "month", "later", "late", "hour", "day", "week"],
    }
    only = {"channel__id__exact": channel.pk} if in_channel else {}
    for word, names in expected.items():
        assert found(admin_client, due=word, **only) == names, word
    assert found(admin_client, due="day", status__exact=101, **only) == []


@pytest.mark.parametrize("in_channel", [False, True])
def test_pages_by_time_go_on_where_the_last_one_ended(
    admin_client: Client, channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch, in_channel: bool
) -> None:
    monkeypatch.setattr("scheduling_app.admin.scheduled.ScheduledMessageAdmin.list_per_page", 2)
    at = timezone.now() + HOUR / 2
    for number in range(5):
        make_scheduled(channel, producer, f"m-{number}", scheduled_for=at, partition=number % 2)
    only = f"&channel__id__exact={channel.pk}" if in_channel else ""
    seen, address = [], f"{pages(ScheduledMessage)}?due=hour{only}"
    for _ in range(3):
        shown = admin_client.get(address).context["cl"]
        seen.append([row.message_id for row in shown.result_list])
        last, address = address, pages(ScheduledMessage) + shown.older_address
    assert seen == [["m-0", "m-1"], ["m-2", "m-3"], ["m-4"]]
    assert shown.older is None
    assert "1 shown, there are no later ones." in admin_client.get(last).content.decode()


@pytest.mark.parametrize("place", ["x", "1", "1-", "9" * 18 + "-1", "-1-1", "²-1"])
def test_a_place_that_is_none_is_the_first_page(
    admin_client: Client, channel: Channel, producer: Producer, place: str
) -> None:
    make_scheduled(channel, producer, "m", scheduled_for=timezone.now() + HOUR / 2)
    assert found(admin_client, due="hour", p=place) == ["m"]
    assert found(admin_client, due="hour", channel__id__exact="9" * 30) == []


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"q": "m-17"},
        {"status__exact": "103"},
        {"due": "aside"},
        {"channel__id__exact": "{channel}"},
        {"channel__id__exact": "{channel}", "status__exact": "102"},
    ],
)
def test_no_list_reads_or_counts_what_is_due_next_month(
    admin_client: Client, channel: Channel, producer: Producer, query: dict[str, str]
) -> None:
    fill(channel, producer)
    asked = {name: value.format(channel=channel.pk) for name, value in query.items()}
    with CaptureQueriesContext(connection) as captured:
        assert admin_client.get(pages(ScheduledMessage), asked).status_code == 200
    big = [entry["sql"] for entry in captured if 'FROM "scheduled_message"' in entry["sql"]]
    assert big
    for statement in big:
        assert "COUNT(" not in statement
        assert "Seq Scan on scheduled_message" not in plan(statement), plan(statement)


def test_a_list_costs_the_same_queries_for_one_row_as_for_thirty(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(pages(ScheduledMessage)).status_code == 200
        return len(captured)

    make_scheduled(channel, producer, "m-1")
    queries()
    one = queries()
    for number in range(2, 31):
        make_scheduled(make_channel(f"c-{number}"), make_producer(f"p-{number}"), f"m-{number}")
    assert queries() == one < 12


@pytest.mark.parametrize("lookup", ["message_id__contains", "payload__contains", "due_at__gt", "headers__a"])
def test_no_other_column_can_be_searched_by_way_of_the_address(admin_client: Client, lookup: str) -> None:
    assert admin_client.get(pages(ScheduledMessage), {lookup: "a"}).status_code == 400


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"scheduled_for": 2.5 * HOUR},
            ["Waits for its time, in 2 hours, 29 minutes.", "The time that was asked"],
        ),
        ({"scheduled_for": -2 * HOUR}, ["Waits to be dispatched, 2 hours late."]),
        ({"due_at": HOUR + 2.5 * SECOND, "scheduled_for": HOUR}, ["2.5 s later, as its channel"]),
        (
            {"scheduled_for": -HOUR, "status": ScheduledStatus.DISPATCHED, "dispatched_at": -HOUR + 0.012 * SECOND},
            ["It is a message now, 0.012 s after it was due."],
        ),
        ({"status": ScheduledStatus.CANCELLED}, ["It will not be sent: somebody cancelled it."]),
        ({"status": ScheduledStatus.CANCELLED, "reason": "channel_gone"}, ["sent: its channel was deleted."]),
        ({"status": ScheduledStatus.SET_ASIDE, "reason": "id_taken"}, ["another message of the channel has its id."]),
        ({"status": ScheduledStatus.SET_ASIDE, "reason": "unheard_of"}, ["It could not be sent: unheard_of."]),
    ],
)
def test_a_message_says_where_it_stands(
    admin_client: Client, channel: Channel, producer: Producer, values: dict[str, Any], words: list[str]
) -> None:
    now = timezone.now()
    given = {name: now + value if isinstance(value, timedelta) else value for name, value in values.items()}
    shown = text_of(admin_client, make_scheduled(channel, producer, "m", **given)).replace("\xa0", " ")
    for sentence in words:
        assert sentence in shown


def test_a_message_shows_its_payload_headers_and_what_holds_it_back(admin_client: Client, producer: Producer) -> None:
    slow = make_channel("slow", release_per_second=2.5)
    message = make_scheduled(slow, producer, "m", payload=b'{"a":19.90}', headers={"X-A": "one"})
    shown = text_of(admin_client, message)
    assert "&quot;a&quot;: 19.90" in shown
    assert "JSON, 11 bytes." in shown
    assert "<dt>X-A</dt><dd>one</dd>" in shown
    assert "Its channel releases 2.5 a second." in shown


def test_nothing_that_came_from_outside_runs(admin_client: Client, channel: Channel, producer: Producer) -> None:
    attack = {"payload": SCRIPT.encode(), "content_type": SCRIPT, "headers": {SCRIPT: SCRIPT}}
    assert SCRIPT not in text_of(admin_client, make_scheduled(channel, producer, "m", **attack))


def test_a_dispatched_message_leads_to_what_it_became(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    scheduled = make_scheduled(channel, producer, "m", scheduled_for=timezone.now() - HOUR)
    dispatch_batch(Lane(channel.pk, 0))
    became = page(Message.objects.get())
    assert became in text_of(admin_client, scheduled)
    Message.objects.all().delete()
    assert became not in text_of(admin_client, scheduled)


def test_cancelling_asks_first_and_is_audited(admin_client: Client, channel: Channel, producer: Producer) -> None:
    first, second = (make_scheduled(channel, producer, name) for name in ("a", "b"))
    asked = act(admin_client, "cancel", first, second)
    assert "Cancel: b, a?" in asked.content.decode()
    assert ScheduledMessage.objects.waiting().count() == 2
    done = act(admin_client, "cancel", first, second, confirmed="yes")
    assert said(done) == ["Cancelled: b, a."]
    assert not ScheduledMessage.objects.waiting().exists()
    assert history(first) == history(second) == ["Cancelled"]


def test_who_loses_a_race_is_told_and_the_others_go_on(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    gone, cancelled, waiting = (make_scheduled(channel, producer, name) for name in ("gone", "cancelled", "waiting"))
    services.dispatch_now(message=gone, by="somebody")
    dispatch_batch(Lane(channel.pk, 0), now=timezone.now())
    services.cancel(message=cancelled, by="somebody")
    done = act(admin_client, "cancel", gone, cancelled, waiting, confirmed="yes")
    assert said(done) == [
        "cancelled: This message was cancelled.",
        "gone: This message was dispatched already.",
        "Cancelled: waiting.",
    ]
    assert (history(gone), history(cancelled), history(waiting)) == ([], [], ["Cancelled"])


def test_dispatching_now_makes_a_message_due(admin_client: Client, channel: Channel, producer: Producer) -> None:
    message = make_scheduled(channel, producer, "m", scheduled_for=timezone.now() + 40 * 24 * HOUR)
    assert "becomes a message at once" in act(admin_client, "dispatch_now", message).content.decode()
    done = act(admin_client, "dispatch_now", message, confirmed="yes", from_page="yes")
    assert done.redirect_chain == [(page(message), 302)]
    assert dispatch_batch(Lane(channel.pk, 0), now=timezone.now()).messages == 1
    assert history(message) == ["Dispatched now"]


def test_rescheduling_asks_for_a_time_and_takes_it_in_utc(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    at = timezone.now() + HOUR
    message = make_scheduled(channel, producer, "m", due_at=at + 3 * SECOND, scheduled_for=at)
    asked = act(admin_client, "reschedule", message)
    assert f'value="{at:%Y-%m-%dT%H:%M:%S}"' in asked.content.decode()
    act(admin_client, "reschedule", message, confirmed="yes", to="2100-01-02T03:04:05")
    message.refresh_from_db()
    assert message.scheduled_for.isoformat() == "2100-01-02T03:04:05+00:00"
    assert message.due_at.isoformat() == "2100-01-02T03:04:08+00:00"
    assert history(message) == ["Rescheduled to 2100-01-02 03:04:05 UTC"]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("", "When should it go?"),
        ("soon", "This is no time."),
        ("2026-02-30T10:00", "This is no time."),
        ("99999-01-01T00:00", "This is no time."),
        ("9999-12-31T23:59", "The last year that can be asked for"),
        ("0001-01-01T00:00", "at least 2 minutes ahead"),
        pytest.param(f"{timezone.now() + 60 * SECOND:%Y-%m-%dT%H:%M:%S}", "at least 2 minutes ahead", id="in a minute"),
    ],
)
def test_a_time_that_cannot_be_is_asked_for_again(
    admin_client: Client, channel: Channel, producer: Producer, to: str, words: str
) -> None:
    message = make_scheduled(channel, producer, "m")
    answer = act(admin_client, "reschedule", message, confirmed="yes", to=to)
    assert words in answer.content.decode()
    assert ScheduledMessage.objects.get().due_at == message.due_at
    assert history(message) == []


def test_staff_without_the_permission_may_look_and_no_more(channel: Channel, producer: Producer) -> None:
    message = make_scheduled(channel, producer, "m")
    client = log_in("view_scheduledmessage")
    assert "Dispatch now" not in client.get(page(message)).content.decode()
    act(client, "cancel", message, confirmed="yes")
    assert ScheduledMessage.objects.waiting().exists()
    assert client.post(page(message), {"priority": 9}).status_code == 403
    assert client.get(pages(Message)).status_code == 403


def test_whoever_may_act_may_still_not_edit_or_delete(channel: Channel, producer: Producer) -> None:
    message = make_scheduled(channel, producer, "m")
    client = log_in(*(f"{verb}_scheduledmessage" for verb in ("view", "change", "delete", "add")))
    assert "Dispatch now" in client.get(page(message)).content.decode()
    assert client.post(page(message), {"priority": 9}).status_code == 403
    assert client.post(page(message, "delete"), {"post": "yes"}).status_code == 403
    assert client.get(pages(ScheduledMessage, "add")).status_code == 403


def test_nobody_acts_on_more_than_a_hundred_at_once(
    admin_client: Client, channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling_app.admin.acting.MOST_AT_ONCE", 2)
    rows = [make_scheduled(channel, producer, f"m-{number}") for number in range(3)]
    refused = act(admin_client, "cancel", rows[0], select_across="1", confirmed="yes")
    assert said(refused) == ["No more than 2 at once, please. Nothing was done."]
    assert ScheduledMessage.objects.waiting().count() == 3


def test_what_left_a_filtered_list_is_not_acted_on(admin_client: Client, channel: Channel, producer: Producer) -> None:
    message = make_scheduled(channel, producer, "m")
    posted = {"action": "cancel", "_selected_action": [message.pk], "confirmed": "yes"}
    answer = admin_client.post(f"{pages(ScheduledMessage)}?due=overdue", posted, follow=True)
    assert said(answer) == ["None of them is in this list any more. Nothing was done."]
    assert history(message) == []


def test_the_sidebar_and_the_channel_lead_to_the_list(admin_client: Client, channel: Channel) -> None:
    shown = text_of(admin_client, channel)
    assert f"{pages(ScheduledMessage)}?channel__id__exact={channel.pk}" in shown
    assert len(re.findall(f'href="{pages(ScheduledMessage)}"', shown)) == 1
    assert pages(ScheduledMessage) not in log_in("view_channel").get(page(channel)).content.decode()
