"""queue.lease: items for one client, or a wait until something comes."""

import json
from typing import Any

import httpx
import pytest
from django.db import transaction

from channels_app.api.pull.waiting import desk
from channels_app.models import DeliveryJob
from channels_app.registry import registry
from scheduling_app.api.querator import lease
from scheduling_app.api.querator.door import in_a_thread
from scheduling_app.querator import queues
from scheduling_app.querator.durations import SECOND
from scheduling_app.querator.options import QueueOptions
from tests.scheduling_app.querator.client import Call, Line, forget
from tests.scheduling_app.querator.conftest import Make
from tests.scheduling_app.querator.test_produce import payloads


def asking(**fields: Any) -> Call:
    asked = {"queue_name": "orders", "client_id": "worker", "batch_size": 1, "request_timeout": "50ms", **fields}
    return "queue.lease", asked


def test_a_leased_item_is_nobody_elses_until_its_deadline(orders: Line) -> None:
    orders.produce("a", "b")

    [item] = orders.lease(size=1)

    assert item.keys() == {"id", "attempts", "lease_deadline", "kind", "encoding", "reference", "bytes"}
    job = DeliveryJob.objects.get(status=1002)
    assert job.device_id == "worker"
    assert item["lease_deadline"].startswith(job.lease_until.strftime("%Y-%m-%dT%H:%M:%S"))  # type: ignore[union-attr]
    assert payloads(orders.lease(size=10, client_id="other")) == ["b"]
    assert orders.is_empty()


def test_who_waits_is_answered_when_something_comes(orders: Line) -> None:
    produced = ("queue.produce", {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "a"}]})

    leased, _ = orders.client.both(asking(request_timeout="15m"), produced)

    assert payloads(leased.json()["items"]) == ["a"]
    assert (leased.json()["queue_name"], leased.json()["partition"]) == ("orders", 0)


def test_nothing_comes_in_time_and_the_client_is_to_try_again(orders: Line) -> None:
    name, fields = asking()

    assert orders.client.refused(name, **fields) == (454, "request timeout; no items are in the queue, try again")


def test_a_client_waits_once_for_a_queue(make_queue: Make, orders: Line) -> None:
    make_queue("letters")

    first, again, other, elsewhere = orders.client.both(
        asking(request_timeout="500ms"),
        asking(request_timeout="500ms"),
        asking(request_timeout="50ms", client_id="other"),
        asking(request_timeout="50ms", queue_name="letters"),
    )

    # Which of the two came first, nobody can tell.
    waited, refused = sorted((first, again), key=lambda one: one.status_code, reverse=True)
    assert [one.status_code for one in (waited, refused, other, elsewhere)] == [454, 409, 454, 454]
    assert refused.json()["message"].startswith("duplicate client id")


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"queue_name": ""}, 400, "queue name is invalid; queue name cannot be empty"),
        ({"queue_name": "none"}, 404, "queue does not exist"),
        ({"client_id": " "}, 400, "invalid client id; cannot be empty"),
        ({"client_id": "c" * 256}, 400, "invalid client id; at most 255 characters"),
        ({"client_id": "a\nb"}, 400, "invalid client id"),
        ({"batch_size": 0}, 400, "invalid batch size; must be greater than zero"),
        ({"batch_size": 1001}, 400, "invalid batch size; at most 1000 go into one lease, but 1001 was requested"),
        ({"batch_size": 2.5}, 455, "'batch_size' is not a whole number"),
        ({"batch_size": 2**31}, 455, "'batch_size' is not a whole number"),
        ({"request_timeout": ""}, 400, "request timeout is required"),
        ({"request_timeout": "15m1s"}, 400, "the maximum is '15m'"),
        ({"request_timeout": "1ms"}, 400, "it is more than '10ms'"),
    ],
)
def test_a_bad_lease_takes_nothing(orders: Line, fields: dict[str, Any], code: int, message: str) -> None:
    orders.produce("a")
    name, asked = asking(**fields)

    refused = orders.client.refused(name, **asked)

    assert refused[0] == code
    assert message in refused[1]
    assert DeliveryJob.objects.filter(status=1001).count() == 1


def test_numbers_may_come_as_texts(orders: Line) -> None:
    orders.produce("a", "b")
    name, asked = asking(batch_size="2")

    assert len(orders.client.call(name, **asked)["items"]) == 2


def test_a_lease_is_of_one_partition(make_queue: Make) -> None:
    orders = make_queue("orders", requested_partitions=2)
    orders.produce("a", "b")
    orders.produce("c", "d")
    DeliveryJob.objects.filter(message__payload__in=[b"a", b"d"]).update(partition=1)
    DeliveryJob.objects.filter(message__payload__in=[b"b", b"c"]).update(partition=0)
    name, asked = asking(batch_size=10)

    first, second = orders.client.call(name, **asked), orders.client.call(name, **asked)

    assert (first["partition"], payloads(first["items"])) == (1, ["a", "d"])
    assert (second["partition"], payloads(second["items"])) == (0, ["b", "c"])


def test_the_desk_holds_nothing_of_one_who_waits(orders: Line) -> None:
    """A future and a timer: the pool is as free as before."""
    waiting = [asking(client_id=f"c{number}", request_timeout="300ms") for number in range(50)]
    listing = ("storage/items.list", {"queue_name": "orders"})

    *answers, listed = orders.client.both(*waiting, listing)

    assert {answer.status_code for answer in answers} == {454}
    assert listed.status_code == 200
    assert not desk()._lines


def test_a_queue_deleted_during_the_wait_hands_out_nothing(orders: Line) -> None:
    gone = ("queues.delete", {"queue_name": "orders"})

    waited, _ = orders.client.both(asking(request_timeout="700ms"), gone)

    assert waited.status_code == 404, json.dumps(waited.json())


@pytest.fixture
def short_looks(long_memory: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits looks often; what the process knows of the queue changes when the test says so."""
    monkeypatch.setattr(lease, "WAIT_SECONDS", 0.02)


@pytest.mark.usefixtures("short_looks")
def test_who_waits_for_a_queue_that_another_process_deletes_is_told(orders: Line) -> None:
    async def delete(_: httpx.AsyncClient) -> None:
        await in_a_thread(lambda: forget("orders"))
        registry.cache_clear()

    answer = orders.client.while_waiting(asking(request_timeout="15m"), delete)

    assert (answer.status_code, answer.json()["details"]) == (404, {"reason": "unknown_queue"})


def make_again() -> None:
    with transaction.atomic():
        queues.delete("orders")
        queues.create("orders", QueueOptions(lease=60 * SECOND, expire=3600 * SECOND))


@pytest.mark.usefixtures("short_looks")
def test_who_waits_for_a_queue_that_is_deleted_and_made_again_has_the_items_of_the_new_one(orders: Line) -> None:
    async def delete_and_fill(client: httpx.AsyncClient) -> None:
        await in_a_thread(make_again)
        registry.cache_clear()
        fields = {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "new"}]}
        assert (await client.post("/v1/queue.produce", json=fields)).status_code == 200

    answer = orders.client.while_waiting(asking(request_timeout="15m"), delete_and_fill)

    assert payloads(answer.json()["items"]) == ["new"]


@pytest.mark.usefixtures("short_looks")
def test_a_wait_of_many_looks_ends_with_what_comes_or_in_time(orders: Line) -> None:
    async def fill(client: httpx.AsyncClient) -> None:
        fields = {"queue_name": "orders", "request_timeout": "5s", "items": [{"utf8": "a"}]}
        assert (await client.post("/v1/queue.produce", json=fields)).status_code == 200

    assert payloads(orders.client.while_waiting(asking(request_timeout="15m"), fill).json()["items"]) == ["a"]
    name, fields = asking(request_timeout="200ms")
    assert orders.client.refused(name, **fields)[0] == 454


@pytest.mark.usefixtures("short_looks")
def test_who_waits_is_sent_away_when_the_server_stops(orders: Line) -> None:
    async def stop(_: httpx.AsyncClient) -> None:
        desk().close()

    assert orders.client.while_waiting(asking(request_timeout="15m"), stop).status_code == 454
