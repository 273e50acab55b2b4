"""queues.create, list, info, update, delete."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import transaction

from channels_app import services
from channels_app.models import Channel, Consumer, Producer
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.channels_app.registry import make_channel
from tests.scheduling_app.querator.client import Client
from tests.scheduling_app.querator.conftest import Make

FIELDS = {"lease_timeout": "1m", "expire_timeout": "10m", "requested_partitions": 1}


def test_a_queue_is_a_channel_with_one_pull_consumer(client: Client) -> None:
    told = client.call("queues.create", queue_name="orders", **FIELDS, max_attempts=10, reference="jo@example.com")

    assert told == {"code": 200, "code_text": "OK", "message": "", "details": {}}
    [consumer] = Consumer.objects.filter(channel=Channel.objects.get(public_id="orders"))
    assert (consumer.public_id, consumer.type, consumer.max_attempts) == ("queue", "pull", 10)
    shown = client.call("queues.info", queue_name="orders")
    assert shown.pop("created_at") == shown.pop("updated_at")
    assert shown == {
        "queue_name": "orders",
        "dead_queue": "",
        "reference": "jo@example.com",
        "lease_timeout": "1m0s",
        "expire_timeout": "10m0s",
        "max_attempts": 10,
        "requested_partitions": 1,
        "partitions": [{"partition": 0}],
    }


def test_two_first_queues_at_a_time_have_one_producer(client: Client) -> None:
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            services.ensure_producer("querator")
            created = threads.submit(client.call, "queues.create", queue_name="orders", **FIELDS)
            wait_until(somebody_waits, 10)
        assert created.result()["code"] == 200

    assert Producer.objects.count() == 1


def test_a_name_may_hold_what_an_id_may_not(client: Client) -> None:
    client.call("queues.create", queue_name="größe/für:alle", **FIELDS)

    assert client.call("queues.info", queueName="größe/für:alle")["queue_name"] == "größe/für:alle"
    assert Channel.objects.filter(public_id="gr~C3~B6~C3~9Fe~2Ff~C3~BCr~3Aalle").exists()


BAD: list[tuple[dict[str, Any], int, str]] = [
    ({}, 400, "queue name is invalid; queue name cannot be empty"),
    ({"queue_name": "  "}, 400, "queue name is invalid; queue name cannot be empty"),
    ({"queue_name": "a~b"}, 400, "queue name is invalid; 'a~b' cannot contain '~' character"),
    ({"queue_name": "a b"}, 400, "queue name is invalid; 'a b' cannot contain whitespace"),
    ({"queue_name": "a" * 513}, 400, "queue name is invalid; cannot be greater than '512' characters"),
    ({"queue_name": "/" * 86}, 400, "more than '255' characters"),
    ({"expire_timeout": "1m"}, 400, "lease timeout is invalid; cannot be empty"),
    ({"lease_timeout": "1m"}, 400, "expire timeout is invalid; cannot be empty"),
    ({"lease_timeout": "0s", "expire_timeout": "1m"}, 400, "lease timeout is invalid; cannot be empty"),
    ({"lease_timeout": "foo"}, 400, "lease timeout is invalid; 'foo' is no duration"),
    ({"lease_timeout": "1" * 16}, 400, "lease timeout is invalid; cannot be greater than '15' characters"),
    ({"lease_timeout": "169h", "expire_timeout": "500h"}, 400, "lease timeout is invalid; it is from 1ms to 168h0m0s"),
    ({"lease_timeout": "-5s", "expire_timeout": "500h"}, 400, "lease timeout is invalid"),
    ({"expire_timeout": "foo"}, 400, "expire timeout is invalid; 'foo' is no duration"),
    ({"expire_timeout": "1" * 16}, 400, "expire timeout is invalid; cannot be greater than '15' characters"),
    ({"lease_timeout": "1h", "expire_timeout": "30m"}, 400, "1h0m0s cannot be greater than the expire timeout 30m0s"),
    ({**FIELDS, "max_attempts": -1}, 400, "max attempts is invalid; cannot be a negative number"),
    ({**FIELDS, "max_attempts": 65_537}, 400, "max attempts is invalid; cannot be greater than 65536"),
    ({**FIELDS, "reference": "r" * 2001}, 400, "reference field is invalid; cannot be greater than '2000' characters"),
    ({**FIELDS, "requested_partitions": 65}, 400, "requested partitions is invalid"),
    ({**FIELDS, "requested_partitions": -1}, 400, "requested partitions is invalid"),
    ({**FIELDS, "dead_queue": "a~b"}, 400, "dead queue is invalid; 'a~b' cannot contain '~' character"),
    ({**FIELDS, "dead_queue": "none"}, 400, "dead queue is invalid; 'none' does not exist"),
    ({**FIELDS, "dead_queue": "q"}, 400, "dead queue is invalid; 'q' cannot reference itself"),
    ({**FIELDS, "namespace": "shop"}, 400, "namespace is invalid"),
    ({**FIELDS, "max_attempts": "many"}, 455, "'max_attempts' is not a whole number"),
    ({**FIELDS, "max_attempts": True}, 455, "'max_attempts' is not a whole number"),
    ({**FIELDS, "reference": 5}, 455, "'reference' is not a text"),
    ({**FIELDS, "reference": "a\0b"}, 455, "'reference' is not a text"),
    ({**FIELDS, "reference": "\ud800"}, 455, "'reference' is not a text"),
    ({**FIELDS, "colour": "red"}, 455, "unknown field 'colour'"),
    ({"queue_name": "q", "queueName": "q"}, 455, "has the field 'queue_name' twice"),
]


@pytest.mark.parametrize(("fields", "code", "message"), BAD)
def test_a_bad_queue_is_refused_and_not_made(client: Client, fields: dict[str, Any], code: int, message: str) -> None:
    named = fields if not fields or "queue_name" in fields else {"queue_name": "q", **fields}

    refused = client.refused("queues.create", **named)

    assert refused[0] == code
    assert message in refused[1]
    assert not Channel.objects.exists()


def test_a_queue_is_made_once(make_queue: Make, client: Client) -> None:
    make_queue("orders")
    make_channel("letters")

    assert client.refused("queues.create", queue_name="orders", **FIELDS) == (
        409,
        "invalid queue; 'orders' already exists",
    )
    assert client.refused("queues.create", queue_name="letters", **FIELDS)[0] == 409


def test_queues_are_listed_by_name_from_the_pivot_on(make_queue: Make, client: Client) -> None:
    for name in ("c", "a", "b", "d"):
        make_queue(name)
    make_channel("b2")

    def names(**fields: Any) -> list[str]:
        return [queue["queue_name"] for queue in client.call("queues.list", **fields)["items"]]

    assert names() == ["a", "b", "c", "d"]
    assert names(limit=2) == ["a", "b"]
    assert names(pivot="b", limit=2) == ["b", "c"]
    assert names(pivot="bb") == ["c", "d"]
    assert names(pivot="e") == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"limit": -1}, "limit is invalid; limit cannot be negative"),
        ({"limit": 65_537}, "limit is invalid; cannot be greater than 65536"),
        ({"pivot": "a~b"}, "pivot is invalid; 'a~b' cannot contain '~' character"),
    ],
)
def test_a_bad_list_is_refused(client: Client, fields: dict[str, Any], message: str) -> None:
    assert client.refused("queues.list", **fields) == (400, message)


@pytest.mark.parametrize("call", ["queues.info", "queues.update", "queues.delete", "queue.stats"])
def test_a_queue_that_is_not_there_is_404(client: Client, call: str) -> None:
    make_channel("letters")
    for name in ("none", "letters"):
        told = client.refused(call, queue_name=name)
        assert told == (404, f"queue does not exist; there is no queue named '{name}'")


def test_an_update_changes_what_it_names_and_nothing_else(make_queue: Make, client: Client) -> None:
    make_queue("dead")
    make_queue("orders", max_attempts=5, reference="jo", dead_queue="dead", expire_timeout="2h")
    before = client.call("queues.info", queue_name="orders")

    client.call("queues.update", queue_name="orders", lease_timeout="90s", requested_partitions=3)

    after = client.call("queues.info", queue_name="orders")
    assert after["updated_at"] > before["updated_at"]
    assert after["lease_timeout"] == "1m30s"
    assert after["partitions"] == [{"partition": 0}, {"partition": 1}, {"partition": 2}]
    kept = ("created_at", "max_attempts", "reference", "dead_queue", "expire_timeout")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    client.call("queues.update", queue_name="orders", dead_queue="", max_attempts=0, reference="")
    last = client.call("queues.info", queue_name="orders")
    assert (last["dead_queue"], last["max_attempts"], last["reference"]) == ("", 0, "")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lease_timeout": "25h"}, "cannot be greater than the expire timeout 24h0m0s"),
        ({"expire_timeout": "30s"}, "1m0s cannot be greater than the expire timeout 30s"),
        ({"requested_partitions": 1}, "a queue cannot have fewer partitions than before"),
        ({"dead_queue": "orders"}, "cannot reference itself"),
        ({"dead_queue": "none"}, "does not exist"),
    ],
)
def test_a_bad_update_changes_nothing(make_queue: Make, client: Client, fields: dict[str, Any], message: str) -> None:
    make_queue("orders", requested_partitions=2)
    before = client.call("queues.info", queue_name="orders")

    code, told = client.refused("queues.update", queue_name="orders", reference="new", **fields)

    assert code == 400
    assert message in told
    assert client.call("queues.info", queue_name="orders") == before


def test_there_are_no_chains_of_dead_queues(make_queue: Make, client: Client) -> None:
    make_queue("c")
    make_queue("b", dead_queue="c")

    assert (
        "cannot have its own dead_queue" in client.refused("queues.create", queue_name="a", dead_queue="b", **FIELDS)[1]
    )
    make_queue("d")
    assert "cannot have its own dead_queue" in client.refused("queues.update", queue_name="c", dead_queue="d")[1]


def test_a_deleted_queue_is_gone_and_its_name_is_free(make_queue: Make, client: Client) -> None:
    orders = make_queue("orders")
    orders.produce("a")

    client.call("queues.delete", queue_name="orders", force=True)

    assert client.refused("queues.info", queue_name="orders")[0] == 404
    assert client.refused("queue.produce", queue_name="orders", request_timeout="1s", items=[{}])[0] == 404
    assert client.call("queues.list")["items"] == []
    assert make_queue("orders").items() == []


def test_a_dead_queue_in_use_is_not_deleted(make_queue: Make, client: Client) -> None:
    make_queue("dead")
    make_queue("orders", dead_queue="dead")

    assert client.refused("queues.delete", queue_name="dead")[0] == 409
    client.call("queues.delete", queue_name="orders")
    client.call("queues.delete", queue_name="dead")
