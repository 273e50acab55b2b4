"""Messages and jobs in the admin: found by index, shown whole, never run."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from channels_app.admin import endless
from channels_app.admin.received import first_id_since
from channels_app.models import Channel, Consumer, DeliveryJob, Message, Producer
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in, page, pages
from tests.channels_app.traffic import make_attempt, make_job, make_message

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


def listed(client: Client, model: Any, **query: Any) -> list[str]:
    return [str(row) for row in client.get(pages(model), query).context["cl"].result_list]


def text_of(client: Client, row: Any) -> str:
    answer = client.get(page(row))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_messages_are_listed_newest_first_with_older_ones_behind_a_link(
    admin_client: Client, channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels_app.admin.messages.MessageAdmin.list_per_page", 2)
    for number in range(5):
        make_message(channel, producer, f"m-{number}")
    seen, address = [], pages(Message)
    for _ in range(3):
        shown = admin_client.get(address).context["cl"]
        seen.append([row.message_id for row in shown.result_list])
        address = pages(Message) + shown.older_address
    assert seen == [["m-4", "m-3"], ["m-2", "m-1"], ["m-0"]]
    assert shown.older is None


def test_a_page_that_is_no_number_is_the_first(admin_client: Client, channel: Channel, producer: Producer) -> None:
    make_message(channel, producer)
    for page_number in ("x", "-1", "9" * 40, "²"):
        assert listed(admin_client, Message, p=page_number) == ["m-1"]


def test_a_message_is_found_by_its_whole_id_in_every_channel(admin_client: Client, producer: Producer) -> None:
    first, second = make_channel("a"), make_channel("b")
    for channel in (first, second):
        make_message(channel, producer, "order-7")
    make_message(first, producer, "order-77")
    assert listed(admin_client, Message, q="order-7") == ["order-7", "order-7"]
    assert listed(admin_client, Message, q=" order-7 ", channel__id__exact=second.pk) == ["order-7"]
    for nothing in ("order", "order-%", "order_7", "\u00e9", SCRIPT):
        assert listed(admin_client, Message, q=nothing) == []


def test_messages_are_filtered_by_channel_status_and_time(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    now = timezone.now().replace(microsecond=0)
    for hours in (5, 3, 1):
        make_message(channel, producer, f"{hours}-hours", received_at=now - timedelta(hours=hours), status=101)
    make_message(make_channel("other"), producer, "waiting", received_at=now)
    assert listed(admin_client, Message, status__exact=100) == ["waiting"]
    assert listed(admin_client, Message, channel__id__exact=channel.pk) == ["1-hours", "3-hours", "5-hours"]
    since, until = now - timedelta(hours=4), now - timedelta(hours=2)
    between = {
        "received_at_from_0": f"{since:%Y-%m-%d}",
        "received_at_from_1": f"{since:%H:%M:%S}",
        "received_at_to_0": f"{until:%Y-%m-%d}",
        "received_at_to_1": f"{until:%H:%M:%S}",
    }
    assert listed(admin_client, Message, **between) == ["3-hours"]
    assert len(listed(admin_client, Message, received_at_from_0="not a day")) == 4


def test_the_place_of_a_time_among_the_ids_is_found(channel: Channel, producer: Producer) -> None:
    now = timezone.now()
    ids = [
        make_message(channel, producer, f"m-{number}", received_at=now + timedelta(minutes=number)).pk
        for number in range(20)
    ]
    Message.objects.filter(pk__in=ids[5:9]).delete()
    assert first_id_since(now) == ids[0]
    after_a_gap = Message.objects.filter(pk__gte=first_id_since(now + timedelta(minutes=7))).order_by("pk")
    assert after_a_gap.values_list("message_id", flat=True)[0] == "m-9"
    assert first_id_since(now + timedelta(hours=1)) == ids[-1] + 1


@pytest.mark.parametrize("lookup", ["message_id__contains", "payload__contains", "producer__name", "headers__a"])
def test_no_other_column_can_be_searched_by_way_of_the_address(admin_client: Client, lookup: str) -> None:
    assert admin_client.get(pages(Message), {lookup: "a"}).status_code == 400


def plan(query: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {query}")
        return "\n".join(row[0] for row in cursor.fetchall())


def fill(channel: Channel, producer: Producer, consumer: Consumer, count: int = 20_000) -> None:
    """Rows that make a plan worth something."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO message (channel_id, producer_id, message_id, payload, content_type, priority, headers,"
            " status, received_at, dispatched_at) SELECT %s, %s, 'm-' || n, 'x', 'text/plain', 0, '{}', 101,"
            " now() + n * interval '1 second', now() FROM generate_series(1, %s) AS n",
            [channel.pk, producer.pk, count],
        )
        cursor.execute(
            "INSERT INTO message_key (channel_id, message_id, row_id) SELECT channel_id, message_id, id FROM message"
        )
        cursor.execute(
            "INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status)"
            " SELECT id, channel_id, %s, 0, 1003 FROM message",
            [consumer.pk],
        )
        cursor.execute("ANALYZE message, message_key, delivery_job, channel, consumer")


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (Message, {}),
        (Message, {"q": "m-17"}),
        (Message, {"status__exact": "100"}),
        (Message, {"channel__id__exact": "{channel}"}),
        (Message, {"channel__id__exact": "{channel}", "status__exact": "100"}),
        (Message, {"received_at_from_0": "2020-01-01", "received_at_to_0": "2020-01-02"}),
        (DeliveryJob, {}),
        (DeliveryJob, {"q": "17"}),
        (DeliveryJob, {"q": "m-17"}),
        (DeliveryJob, {"message__id__exact": "17"}),
        (DeliveryJob, {"status__exact": "1001"}),
        (DeliveryJob, {"status__exact": "1002", "consumer__id__exact": "{consumer}"}),
        (DeliveryJob, {"turn": "ready"}),
        (DeliveryJob, {"turn": "waiting"}),
    ],
)
def test_no_list_reads_or_counts_a_whole_table(
    admin_client: Client, consumer: Consumer, model: Any, query: dict[str, str]
) -> None:
    channel = consumer.channel
    fill(channel, make_producer(), consumer)
    asked = {name: value.format(channel=channel.pk, consumer=consumer.pk) for name, value in query.items()}
    with CaptureQueriesContext(connection) as captured:
        assert admin_client.get(pages(model), asked).status_code == 200
    big = [entry["sql"] for entry in captured if re.search(r'FROM "(message|message_key|delivery_job)"', entry["sql"])]
    assert big
    for statement in big:
        assert "COUNT(" not in statement
        assert not re.search(r"Seq Scan on (message|message_key|delivery_job)\b", plan(statement)), plan(statement)


def test_what_has_no_index_is_looked_for_in_reach_and_further_back_on_request(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "REACH", 3)
    message = make_message(channel, producer)
    old = make_job(message, consumer, status=1004, reason="timeout")
    for _ in range(5):
        make_job(message, consumer, status=1003)
    shown = admin_client.get(pages(DeliveryJob), {"status__exact": 1004})
    assert "Look further back" in shown.content.decode()
    assert list(shown.context["cl"].result_list) == []
    further = admin_client.get(pages(DeliveryJob) + shown.context["cl"].older_address).context["cl"]
    assert list(further.result_list) == [old]


@pytest.mark.parametrize("model", [Message, DeliveryJob])
def test_a_list_costs_the_same_queries_for_one_row_as_for_thirty(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer, model: Any
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(pages(model)).status_code == 200
        return len(captured)

    make_job(make_message(channel, producer), consumer)
    queries()
    one = queries()
    for number in range(2, 31):
        own = make_consumer(channel, f"consumer-{number}")
        make_job(make_message(channel, make_producer(f"producer-{number}"), f"m-{number}"), own)
    assert queries() == one < 12


def test_a_message_tells_its_story_from_the_door_to_the_outcome(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    message = make_message(channel, producer, dispatched_at=timezone.now(), status=101)
    job = make_job(message, consumer, status=1003, attempt=2, failures=1)
    make_attempt(job, 1, status_code=503, reason="http_5xx", answer="try later", duration_ms=1041)
    make_attempt(job, 2, status_code=200, answer="thanks")
    shown = text_of(admin_client, message)
    told = ["accepted", "dispatched", "Attempt 1: HTTP 503, http_5xx, after 1,041 ms.", "try later"]
    told += ["Attempt 2: HTTP 200, after 41 ms.", "thanks", "The consumer has it."]
    places = [shown.index(words, shown.index("Timeline")) for words in told]
    assert places == sorted(places)
    assert page(job) in shown
    assert page(consumer) in shown


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"next_attempt_at": timezone.now(), "failures": 2}, "Waits to be tried again, failures: 2 of 4."),
        ({}, "Waits for its turn."),
        ({"status": 1002, "lease_until": timezone.now(), "attempt": 3}, "Attempt 3 is under way"),
        ({"status": 1004, "reason": "expired", "failures": 1}, "Given up: expired. Failures: 1."),
    ],
)
def test_a_job_says_where_it_stands(
    admin_client: Client, producer: Producer, consumer: Consumer, values: Any, words: str
) -> None:
    message = make_message(consumer.channel, producer, dispatched_at=timezone.now(), status=101)
    job = make_job(message, consumer, **values)
    assert words in text_of(admin_client, message)
    assert words in text_of(admin_client, job)


def test_a_job_that_a_pause_holds_up_says_so(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    message = make_message(channel, producer, dispatched_at=timezone.now(), status=101)
    make_job(message, consumer)
    type(consumer.state).objects.filter(pk=consumer.pk).update(paused_at=timezone.now())
    assert "Waits for its turn. Paused since" in text_of(admin_client, message)


def test_a_message_that_waits_for_fan_out_and_one_without_consumers_say_so(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    assert "Waits for fan-out" in text_of(admin_client, make_message(channel, producer, "a"))
    alone = make_message(channel, producer, "b", status=101, dispatched_at=timezone.now())
    assert "The channel had no consumer to deliver it to." in text_of(admin_client, alone)


def test_an_expunged_message_says_who_took_its_payload_and_when(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    message = make_message(channel, producer, payload=b"", expunged_at=timezone.now(), expunged_by="key ops")
    shown = text_of(admin_client, message)
    assert "Payload removed by key ops." in shown
    assert "The payload was expunged on" in shown


def test_nothing_that_came_from_outside_runs(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    attack = SCRIPT.encode()
    message = make_message(channel, producer, payload=attack, content_type=SCRIPT, headers={SCRIPT: SCRIPT})
    job = make_job(message, consumer, status=1004, reason="http_5xx")
    make_attempt(job, 1, reason="http_5xx", error=SCRIPT, answer=SCRIPT)
    as_json = make_message(channel, producer, "json", payload=b'{"a": "' + attack + b'"}')
    for row in (message, job, as_json):
        assert SCRIPT not in text_of(admin_client, row)
    for model in (Message, DeliveryJob):
        assert SCRIPT not in admin_client.get(pages(model), {"q": SCRIPT}).content.decode()


def test_jobs_are_filtered_and_found_by_number_or_message(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    other = make_consumer(channel, "other")
    ready = make_job(make_message(channel, producer, "a"), consumer)
    waiting = make_job(make_message(channel, producer, "b"), other, next_attempt_at=timezone.now())
    dead = make_job(make_message(channel, producer, "c"), consumer, status=1004, reason="timeout")
    cases: list[tuple[dict[str, Any], list[DeliveryJob]]] = [
        ({}, [dead, waiting, ready]),
        ({"turn": "ready"}, [ready]),
        ({"turn": "waiting"}, [waiting]),
        ({"status__exact": 1001}, [waiting, ready]),
        ({"reason__exact": "timeout"}, [dead]),
        ({"consumer__id__exact": other.pk}, [waiting]),
        ({"channel__id__exact": channel.pk}, [dead, waiting, ready]),
        ({"message__id__exact": dead.message_id}, [dead]),
        ({"q": str(ready.pk)}, [ready]),
        ({"q": "b"}, [waiting]),
        ({"q": "9" * 30}, []),
    ]
    for query, found in cases:
        assert listed(admin_client, DeliveryJob, **query) == [str(job.pk) for job in found], query


def test_staff_may_look_and_nobody_may_change(channel: Channel, producer: Producer, consumer: Consumer) -> None:
    message = make_message(channel, producer)
    client = log_in("view_message", "change_message", "delete_message", "add_message")
    assert client.get(page(message)).status_code == 200
    assert client.post(page(message), {"priority": 9}).status_code == 403
    assert client.post(page(message, "delete"), {"post": "yes"}).status_code == 403
    assert client.get(pages(Message, "add")).status_code == 403
    assert client.get(pages(DeliveryJob)).status_code == 403
