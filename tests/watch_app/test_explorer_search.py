"""The explorer's search: what it finds, that it says how far it looked, and that it never looks further."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Channel, Consumer, Message, MessageKey, Producer
from scheduling_app.models import ScheduledMessage
from tests.channels_app.messages import nodes_of, plan_of, rows_touched
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in
from tests.channels_app.traffic import make_attempt, make_job, make_message
from watch_app.explorer import walks, ways
from watch_app.explorer.asked import FOR_LATER, Asked, Cursor, Kind
from watch_app.explorer.places import first_id_since

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def page(client: Client, **asked: Any) -> Any:
    answer = client.get(reverse("admin:watch_explorer"), asked)
    assert answer.status_code == 200
    return answer


def found(client: Client, **asked: Any) -> list[str]:
    return [row["found"].message_id for row in page(client, **asked).context["rows"]]


def make_scheduled(channel: Channel, producer: Producer, message_id: str, **values: Any) -> ScheduledMessage:
    at = timezone.now() + timedelta(hours=1)
    given = {"payload": b"{}", "content_type": "text/plain", "scheduled_for": at, "due_at": at, **values}
    row = ScheduledMessage.objects.create(channel=channel, producer=producer, message_id=message_id, **given)
    MessageKey.objects.create(channel_id=channel.pk, message_id=message_id, row_id=row.pk, scheduled=True)
    return row


def make_dead(channel: Channel, producer: Producer, consumer: Consumer, message_id: str, **values: Any) -> None:
    """A trigger keeps its letter, with the error of its last try."""
    told = {"reason": "http_5xx", "error": "no such order", **values}
    message = make_message(channel, producer, message_id, status=101, dispatched_at=timezone.now())
    job = make_job(message, consumer, attempt=1)
    make_attempt(job, 1, reason=told["reason"], error=told["error"], status_code=503)
    type(job).objects.filter(pk=job.pk).update(status=1004, reason=told["reason"])


def test_an_id_is_found_whole_in_all_channels_now_and_for_later(admin_client: Client, producer: Producer) -> None:
    for name in ("a", "b"):
        make_message(make_channel(name), producer, "order-7")
    make_scheduled(make_channel("c"), producer, "order-7")
    make_message(Channel.objects.get(public_id="a"), producer, "order-77")
    shown = page(admin_client, id="order-7").context["rows"]
    assert {(row["found"].channel, row["found"].status) for row in shown} == {
        ("a", "ACKNOWLEDGED"),
        ("b", "ACKNOWLEDGED"),
        ("c", "SCHEDULED"),
    }
    assert found(admin_client, id="order-7", channel="b") == ["order-7"]
    assert found(admin_client, id="order") == []


def test_a_pruned_id_is_found_and_leads_to_where_it_is(admin_client: Client, channel: Channel) -> None:
    MessageKey.objects.create(channel_id=channel.pk, message_id="old", row_id=7, pruned_at=timezone.now())
    [row] = page(admin_client, id="old").context["rows"]
    assert row["found"].status == "PRUNED"
    gone = admin_client.get(row["url"])
    assert gone.status_code == 410
    assert "its history is in the lake" in gone.content.decode()


def test_every_state_finds_its_own(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    make_message(channel, producer, "waiting")
    jobs: dict[str, dict[str, Any]] = {
        "ready": {},
        "retry": {"next_attempt_at": timezone.now(), "reason": "timeout"},
        "flying": {"status": 1002, "lease_until": timezone.now()},
        "done": {"status": 1003},
    }
    for name, values in jobs.items():
        message = make_message(channel, producer, name, status=101, dispatched_at=timezone.now())
        make_job(message, consumer, **values)
    make_dead(channel, producer, consumer, "dead")
    make_scheduled(channel, producer, "later")
    make_scheduled(channel, producer, "cancelled", status=102)
    make_scheduled(channel, producer, "aside", status=103, reason="id_taken")
    expected = {
        "acknowledged": ["waiting"],
        "dispatched": ["dead", "done", "flying", "retry", "ready"],
        "queued": ["retry", "ready"],
        "in_flight": ["flying"],
        "delivered": ["done"],
        "dead": ["dead"],
        "scheduled": ["later"],
        "cancelled": ["cancelled"],
        "set_aside": ["aside"],
    }
    for status, names in expected.items():
        assert found(admin_client, status=status) == names, status
        assert found(admin_client, status=status, channel="orders") == names, status
        assert found(admin_client, status=status, channel=make_channel(f"no-{status}").public_id) == []
    assert found(admin_client, status="queued", consumer="billing", reason="timeout") == ["retry"]
    assert found(admin_client, consumer="billing") == ["dead", "done", "flying", "retry", "ready"]


def test_errors_are_found_by_words_and_reason_together_with_everything_else(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    other = make_consumer(channel, "stock")
    make_dead(channel, producer, consumer, "a", error="Timeout at db-7.example.com", reason="timeout")
    make_dead(channel, producer, consumer, "b", error="Quota exceeded for tenant 9")
    make_dead(channel, producer, other, "c", error="quota EXCEEDED")
    assert found(admin_client, error="exceeded quota") == ["c", "b"]
    assert found(admin_client, error="example") == ["a"]
    assert found(admin_client, reason="timeout") == ["a"]
    assert found(admin_client, error="quota", consumer="stock") == ["c"]
    assert found(admin_client, error="quota", reason="timeout", channel="orders") == []


def test_a_time_is_a_limit_on_both_sides(admin_client: Client, channel: Channel, producer: Producer) -> None:
    now = timezone.now().replace(microsecond=0)
    for hours in (5, 3, 1):
        make_message(channel, producer, f"{hours}-hours", received_at=now - timedelta(hours=hours))
    since, until = (f"{now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}" for hours in (4, 2))
    assert found(admin_client, since=since) == ["1-hours", "3-hours"]
    assert found(admin_client, until=until) == ["3-hours", "5-hours"]
    assert found(admin_client, since=since, until=until, channel="orders") == ["3-hours"]


def test_pages_follow_each_other_without_a_gap(admin_client: Client, channel: Channel, producer: Producer) -> None:
    for number in range(60):
        make_message(channel, producer, f"m-{number}")
    seen, asked = [], {"channel": "orders"}
    for _ in range(3):
        shown = page(admin_client, **asked)
        seen += [row["found"].message_id for row in shown.context["rows"]]
        asked = {"channel": "orders", "before": str(shown.context["results"].older)}
    assert seen == [f"m-{number}" for number in reversed(range(60))]
    assert shown.context["results"].older is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"id": SCRIPT}, "An id is 1 to 255"),
        ({"id": "a\x00"}, "Null characters are not allowed"),
        ({"channel": "nobody"}, "There is no such channel"),
        ({"channel": "%"}, "An id is 1 to 255"),
        ({"consumer": "nobody"}, "There is no such consumer"),
        ({"status": "lost"}, "Select a valid choice"),
        ({"since": "yesterday"}, "This is no time. Write a time like 2026-12-31T23:59:59."),
        ({"since": "0001-01-01T00:00"}, "No message can be of that time"),
        ({"until": "9999-12-31T23:59:59"}, "No message can be of that time"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "The end is before the beginning"),
        ({"reason": "mood"}, "Select a valid choice"),
        ({"error": "\x00"}, "Null characters are not allowed"),
        ({"error": "quota", "status": "delivered"}, "Words are looked for among dead letters only"),
        ({"consumer": "billing", "status": "scheduled"}, "A consumer has deliveries"),
    ],
)
def test_what_cannot_be_searched_for_is_told_and_never_runs(
    admin_client: Client, consumer: Consumer, asked: dict[str, str], words: str
) -> None:
    shown = page(admin_client, **asked)
    assert words in shown.content.decode()
    assert SCRIPT not in shown.content.decode()
    assert shown.context["results"] is None


@pytest.mark.parametrize("before", ["x", "m", "m-1", "m²", "z7", "m" + "9" * 40, "l7"])
def test_a_place_that_is_none_is_the_newest(
    admin_client: Client, channel: Channel, producer: Producer, before: str
) -> None:
    make_message(channel, producer)
    assert found(admin_client, before=before) == ["m-1"]


def test_a_consumer_of_several_channels_must_be_told_apart(admin_client: Client, producer: Producer) -> None:
    for name in ("a", "b"):
        channel = make_channel(name)
        make_job(make_message(channel, producer, name, status=101), make_consumer(channel, "k"))
    assert "say which channel" in page(admin_client, consumer="k").content.decode()
    assert found(admin_client, consumer="k", channel="b") == ["b"]


def test_without_permission_there_is_nothing_to_see(channel: Channel, producer: Producer) -> None:
    make_message(channel, producer)
    client = log_in("view_channel")
    for address in (
        reverse("admin:watch_explorer"),
        reverse("admin:watch_explorer_life", args=["orders", "m-1"]),
        reverse("admin:watch_explorer_payload", args=["orders", "m-1"]),
        reverse("admin:watch_explorer_send"),
    ):
        assert client.get(address).status_code == 403, address
    assert "Explorer" not in client.get(reverse("admin:index")).content.decode()


def test_messages_for_later_are_for_those_who_may_see_such(channel: Channel, producer: Producer) -> None:
    make_message(make_channel("now"), producer, "order-7")
    make_scheduled(channel, producer, "order-7")
    client = log_in("view_message")
    assert [row["found"].channel for row in page(client, id="order-7").context["rows"]] == ["now"]
    for status in FOR_LATER:
        shown = page(client, status=status)
        assert shown.context["results"] is None
        assert "Select a valid choice" in shown.content.decode()
        assert f'value="{status}"' not in shown.content.decode()


def test_who_may_see_messages_for_later_finds_them(channel: Channel, producer: Producer) -> None:
    make_scheduled(channel, producer, "order-7")
    client = log_in("view_message", "view_scheduledmessage")
    assert found(client, id="order-7") == found(client, status="scheduled") == ["order-7"]


@pytest.mark.parametrize(
    "asked",
    [{"status": "dead"}, {"reason": "http_5xx"}, {"error": "order"}, {"reason": "http_5xx", "consumer": "billing"}],
    ids=" ".join,
)
def test_open_letters_are_for_those_who_may_see_such(
    channel: Channel, producer: Producer, consumer: Consumer, asked: dict[str, str]
) -> None:
    make_dead(channel, producer, consumer, "order-7")
    shown = page(log_in("view_message"), **asked)
    assert shown.context["results"] is None
    assert "no such order" not in shown.content.decode()


def test_a_reason_of_deliveries_is_found_without_their_letters(
    channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    make_job(make_message(channel, producer, "again", status=101), consumer, reason="timeout")
    assert found(log_in("view_message"), status="queued", reason="timeout") == ["again"]


def test_a_search_says_where_it_stopped_and_goes_on_from_there(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (walks, ways):
        monkeypatch.setattr(module, "REACH", 3)
    monkeypatch.setattr(ways, "LEAST_MESSAGES", 3)
    make_job(make_message(channel, producer, "first", status=101), consumer, status=1003)
    for number in range(5):
        make_job(
            make_message(channel, producer, f"m-{number}", status=101),
            consumer,
            status=1002,
            lease_until=timezone.now(),
        )
    asked = {"status": "delivered", "consumer": "billing"}
    shown = page(admin_client, **asked)
    assert "0 found. Looked at the newest 3; there may be more" in re.sub(r"\s+", " ", shown.content.decode())
    assert shown.context["rows"] == []
    assert found(admin_client, **asked, before=str(shown.context["results"].older)) == ["first"]


def fill(channel: Channel, producer: Producer, consumer: Consumer, count: int = 30_000) -> None:
    """Rows that make a plan worth something: delivered, and as many letters and messages for later."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO message (channel_id, producer_id, message_id, payload, content_type, priority, headers,"
            " status, received_at, dispatched_at) SELECT %s, %s, 'm-' || n, 'x', 'text/plain', 0, '{}', 101,"
            " now() - interval '1 day' + n * interval '1 second', now() FROM generate_series(1, %s) AS n",
            [channel.pk, producer.pk, count],
        )
        cursor.execute(
            "INSERT INTO message_key (channel_id, message_id, row_id) SELECT channel_id, message_id, id FROM message"
        )
        cursor.execute(
            "INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status, created_at)"
            " SELECT id, channel_id, %s, 0, 1003, received_at FROM message",
            [consumer.pk],
        )
        cursor.execute(
            "INSERT INTO dead_letter (job_id, message_id, channel_id, consumer_id, reason, error, fingerprint,"
            " attempts, entered_at) SELECT id, message_id, channel_id, consumer_id, 'timeout', 'no answer ' || id, 1,"
            " 1, created_at FROM delivery_job"
        )
        cursor.execute(
            "INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, priority,"
            " headers, scheduled_for, due_at, created_at) SELECT channel_id, producer_id, 's-' || id, 'x', 'a/b', 0,"
            " '{}', now(), now(), received_at FROM message"
        )
        cursor.execute("ANALYZE message, message_key, delivery_job, dead_letter, scheduled_message, channel, consumer")


TABLES = "message|message_key|delivery_job|dead_letter|scheduled_message|delivery_attempt"
SINCE = {"since": "2020-01-01T00:00", "until": "2020-01-02T00:00"}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"id": "m-17"},
        {"channel": "orders"},
        {"channel": "orders", "status": "acknowledged"},
        {"status": "acknowledged"},
        {"status": "dispatched", **SINCE},
        {"status": "queued"},
        {"status": "queued", "channel": "orders"},
        {"status": "in_flight", "consumer": "billing"},
        {"status": "delivered"},
        {"status": "delivered", "consumer": "billing", **SINCE},
        {"consumer": "billing", "reason": "dns", "status": "delivered"},
        {"status": "dead", "consumer": "billing"},
        {"error": "nobody says this"},
        {"error": "answer 17", "channel": "orders", "reason": "timeout"},
        {"reason": "dns"},
        {"status": "scheduled"},
        {"status": "cancelled"},
        {"status": "cancelled", "channel": "orders", **SINCE},
        {"status": "set_aside"},
    ],
    ids=lambda asked: " ".join(asked) or "all",
)
def test_no_search_reads_more_than_its_reach(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer, asked: dict[str, str]
) -> None:
    fill(channel, producer, consumer)
    with CaptureQueriesContext(connection) as captured:
        page(admin_client, **asked)
    big = [entry["sql"] for entry in captured if re.search(rf'FROM "?({TABLES})\b', entry["sql"])]
    assert big
    for statement in big:
        scans = [
            node["Node Type"] for node in nodes_of(plan_of(statement)) if node.get("Relation Name") in TABLES.split("|")
        ]
        assert "Seq Scan" not in scans, statement
        # A walk past messages looks at a job of each as well.
        assert rows_touched(statement) <= 2 * walks.REACH + 100, statement


@pytest.mark.parametrize(
    "asked", [{}, {"channel": "orders"}, {"consumer": "billing"}, {"status": "dead"}, {"status": "queued"}]
)
def test_a_search_costs_the_same_queries_for_one_row_as_for_twenty(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer, asked: dict[str, str]
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(admin_client, **asked)
        return len(captured)

    def add(number: int) -> None:
        make_dead(channel, producer, consumer, f"d-{number}")
        make_job(make_message(channel, producer, f"m-{number}", status=101), consumer)

    add(0)
    queries()
    one = queries()
    for number in range(1, 11):
        add(number)
    assert queries() == one < 20


def test_the_place_of_a_time_among_the_ids_is_found(channel: Channel, producer: Producer) -> None:
    now = timezone.now()
    ids = [
        make_message(channel, producer, f"m-{number}", received_at=now + timedelta(minutes=number)).pk
        for number in range(20)
    ]
    Message.objects.filter(pk__in=ids[5:9]).delete()
    place = [first_id_since("message", "received_at", now + timedelta(minutes=minutes)) for minutes in (0, 7, 60)]
    assert place[0] == ids[0]
    assert ids[4] < place[1] <= ids[9]
    assert place[2] == ids[-1] + 1
    Message.objects.all().delete()
    assert first_id_since("message", "received_at", now) == 0


def test_a_cursor_is_worth_something_to_its_own_kind_only() -> None:
    asked = Asked(older_than=Cursor.of("m17"))
    assert asked.before(Kind.MESSAGE) == 17
    assert asked.before(Kind.JOB) is None
