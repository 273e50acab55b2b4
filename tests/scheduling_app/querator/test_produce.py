"""queue.produce: all or nothing, in one partition, in order."""

import base64
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from channels_app.models import Channel, ChannelState, Message, Producer
from channels_app.registry import registry
from scheduling_app.models import ScheduledMessage
from scheduling_app.querator.errors import NotStored
from scheduling_app.querator.producing import produce
from tests.acceptance.servers import wait_until
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.locks import somebody_waits
from tests.scheduling_app.querator.client import Client, Line, forget
from tests.scheduling_app.querator.conftest import Make


def ahead(**since: float) -> str:
    return (datetime.now(UTC) + timedelta(**since)).isoformat().replace("+00:00", "Z")


def payloads(items: list[dict[str, Any]], field: str = "bytes") -> list[str]:
    return [base64.b64decode(item[field]).decode() for item in items]


def test_what_goes_in_comes_out_in_its_order(orders: Line) -> None:
    words = {"kind": "webhook-v2", "encoding": "jsön", "reference": "account 0001"}
    orders.produce("a", "b", **words)
    orders.produce("c", **words)

    leased = orders.lease()

    assert payloads(leased) == ["a", "b", "c"]
    assert {name: leased[0][name] for name in words} == words
    assert [item["attempts"] for item in leased] == [1, 1, 1]


@pytest.mark.parametrize(
    ("item", "payload"),
    [
        ({"bytes": base64.b64encode(bytes(range(256))).decode()}, bytes(range(256))),
        ({"bytes": "_-8", "utf8": "ignored"}, b"\xff\xef"),
        ({"utf8": "größer"}, "größer".encode()),
        ({"utf8": "x", "bytes": None}, b"x"),
        ({"utf8": "a\0b"}, b"a\0b"),
        ({}, b""),
    ],
)
def test_a_payload_is_bytes_or_text(orders: Line, item: dict[str, Any], payload: bytes) -> None:
    orders.client.call("queue.produce", queueName="orders", requestTimeout="1m", items=[item])

    [leased] = orders.lease()

    assert base64.b64decode(leased["bytes"]) == payload


BAD: list[tuple[dict[str, Any], int, str]] = [
    ({"queue_name": ""}, 400, "queue name is invalid; queue name cannot be empty"),
    ({"queue_name": "none"}, 404, "queue does not exist; there is no queue named 'none'"),
    ({"request_timeout": ""}, 400, "request timeout is required; '5m' is recommended, '15m' is the maximum"),
    ({"request_timeout": "16m"}, 400, "the maximum is '15m' but '16m' was requested"),
    ({"request_timeout": "10ms"}, 400, "it is more than '10ms'"),
    ({"request_timeout": "soon"}, 400, "request timeout is invalid; 'soon' is no duration"),
    ({"items": []}, 400, "items cannot be empty; at least one item is required"),
    ({"items": [{}] * 1001}, 400, "at most 1000 go into one request but received 1001"),
    ({"items": [{"kind": "a\nb"}]}, 400, "items[0] is invalid"),
    ({"items": [{}, {"reference": "r" * 20_000}]}, 400, "items[1] is invalid"),
    ({"items": {}}, 455, "'items' is not a list"),
    ({"items": ["a"]}, 455, "items[0] is not an object"),
    ({"items": [{}, {"bytes": "!"}]}, 455, "'bytes' is not base64"),
    ({"items": [{"bytes": "a"}]}, 455, "'bytes' is not base64"),
    ({"items": [{"bytes": 1}]}, 455, "'bytes' is not a text"),
    ({"items": [{"utf8": "\ud800"}]}, 455, "'utf8' is not a text"),
    ({"items": [{"utf8": ["a"]}]}, 455, "'utf8' is not a text"),
    ({"items": [{"kind": "a\0b"}]}, 455, "'kind' is not a text, or has a NUL"),
    ({"items": [{"enqueue_at": "tomorrow"}]}, 455, "'enqueue_at' is not a time"),
    ({"items": [{"enqueue_at": "2026-01-01T00:00:00"}]}, 455, "'enqueue_at' is not a time"),
    ({"items": [{"enqueue_at": 5}]}, 455, "'enqueue_at' is not a time"),
    ({"items": [{"colour": "red"}]}, 455, "items[0] has an unknown field 'colour'"),
]


@pytest.mark.parametrize(("fields", "code", "message"), BAD)
def test_a_bad_request_stores_nothing(orders: Line, fields: dict[str, Any], code: int, message: str) -> None:
    good = {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "a"}]}

    refused = orders.client.refused("queue.produce", **{**good, **fields})

    assert refused[0] == code
    assert message in refused[1]
    assert not Message.objects.exists()
    assert not ScheduledMessage.objects.exists()


def test_one_bad_item_refuses_all(orders: Line) -> None:
    items = [{"utf8": "a"}, {"utf8": "b", "enqueue_at": ahead(hours=1)}, {"utf8": "c", "kind": "\x01"}]

    assert orders.client.refused("queue.produce", queue_name="orders", request_timeout="5s", items=items)[0] == 400

    assert orders.items() == orders.scheduled() == []


def test_five_megabytes_are_taken_and_no_more(orders: Line) -> None:
    orders.produce("a" * 4_900_000)
    too_large = b'{"queue_name": "orders", "items": [{"utf8": "' + b"a" * 5_000_000 + b'"}]}'

    answer = orders.client.send("/v1/queue.produce", too_large)

    assert (answer.status_code, answer.json()["code_text"]) == (400, "Bad Request")
    assert "larger than 5000000 bytes" in answer.json()["message"]
    assert len(orders.items()) == 1


def test_a_request_is_one_partition_and_requests_are_spread(make_queue: Make) -> None:
    orders = make_queue("orders", requested_partitions=3)
    for _ in range(3):
        orders.produce("a", "b")

    found = {number: len(orders.items(partition=number)) for number in range(3)}

    assert sum(found.values()) == 6
    assert set(found.values()) <= {0, 2, 4, 6}


def test_an_item_for_later_waits_apart_and_one_for_the_past_is_there_at_once(orders: Line) -> None:
    items = [{"utf8": "later", "enqueue_at": ahead(hours=1)}, {"utf8": "past", "enqueueAt": "2001-01-01T00:00:00Z"}]
    orders.client.call("queue.produce", queue_name="orders", request_timeout="5s", items=items)

    assert payloads(orders.items(), "payload") == ["past"]
    assert payloads(orders.scheduled(), "payload") == ["later"]
    assert payloads(orders.lease()) == ["past"]


def test_a_channel_that_takes_nothing_for_later_refuses(orders: Line) -> None:
    Channel.objects.filter(public_id="orders").update(delayed_messaging=False)
    items = [{"utf8": "a"}, {"utf8": "b", "enqueue_at": ahead(hours=1)}]

    assert orders.client.refused("queue.produce", queue_name="orders", request_timeout="5s", items=items)[0] == 400

    assert orders.items() == []


def test_a_full_channel_says_try_again(orders: Line) -> None:
    Channel.objects.filter(public_id="orders").update(max_backlog=2)
    registry.cache_clear()
    orders.produce("a", "b")

    asked = {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "c"}]}
    code, _ = orders.client.refused("queue.produce", **asked)

    assert code == 454
    assert len(orders.items()) == 2


def test_its_producer_is_made_again_if_it_is_gone(orders: Line) -> None:
    Producer.objects.filter(public_id="querator").update(deleted_at=datetime.now(UTC))

    orders.produce("a")

    assert payloads(orders.items(), "payload") == ["a"]


def test_a_queue_that_another_client_never_heard_of_can_be_used_at_once(client: Client, make_queue: Make) -> None:
    asked = {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "a"}]}
    assert client.refused("queue.produce", **asked)[0] == 404
    make_queue("orders")

    client.call("queue.produce", **asked)


def producing(*items: dict[str, Any]) -> dict[str, Any]:
    return {"queue_name": "orders", "request_timeout": "5s", "items": items}


@pytest.mark.usefixtures("long_memory")
@pytest.mark.parametrize("later", [{}, {"enqueue_at": "2100-01-01T00:00:00Z"}])
def test_a_queue_that_another_process_deleted_takes_nothing(orders: Line, later: dict[str, str]) -> None:
    orders.produce("a")
    forget("orders")

    refused = orders.client.refused("queue.produce", **producing({"utf8": "b", **later}))

    assert refused == (404, "queue does not exist; there is no queue named 'orders'")
    assert (Message.objects.count(), ScheduledMessage.objects.count()) == (1, 0)


@pytest.mark.usefixtures("long_memory")
def test_a_queue_that_is_deleted_while_items_are_stored_takes_none_of_them(orders: Line) -> None:
    orders.produce("a")
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            # Where whoever makes jobs of messages waits.
            ChannelState.objects.select_for_update().get()
            refused = threads.submit(orders.client.refused, "queue.produce", **producing({"utf8": "b"}))
            wait_until(somebody_waits, 10)
            forget("orders")
        assert refused.result()[0] == 404

    assert Message.objects.count() == 1


def test_an_id_that_is_taken_is_no_success(orders: Line) -> None:
    """Ids are made by chance; if it fails, the caller hears of it and nothing is stored."""
    orders.produce("a")
    message = Message.objects.get()
    taken = incoming((message.channel_id, message.producer_id), message.message_id)
    fresh = taken._replace(message_id="fresh")

    with pytest.raises(NotStored):
        at_once(lambda connection, batch: produce(connection, batch, {}), {0: fresh, 1: taken})

    assert Message.objects.count() == 1
