"""What dies in a queue lands in its dead queue, once, with its history."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from channels_app import services
from channels_app.delivery.endings import bury_gone, expire_old
from channels_app.delivery.fanout import fan_out
from channels_app.models import Channel, DeliveryJob, Message
from dlq_app.models import DeadLetter
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.scheduling_app.querator.client import Line, forget
from tests.scheduling_app.querator.conftest import Make
from tests.scheduling_app.querator.test_produce import payloads
from tests.scheduling_app.querator.test_settle import run_out


@pytest.fixture
def dead(make_queue: Make) -> Line:
    return make_queue("dead", requested_partitions=2)


@pytest.fixture
def orders(make_queue: Make, dead: Line) -> Line:
    return make_queue("orders", dead_queue="dead", max_attempts=3)


def arrived() -> list[Message]:
    """What came to the dead queue; it has its jobs then."""
    channel = Channel.objects.get(public_id="dead")
    fan_out(channel.pk)
    return list(Message.objects.filter(channel=channel).order_by("pk"))


def test_a_dead_item_lands_in_the_dead_queue_with_its_history(orders: Line, dead: Line) -> None:
    orders.produce("a", kind="order", reference="r-1")
    [first] = orders.lease(client_id="Jürgen")
    orders.retry(first["id"])
    [last] = orders.lease(client_id="second")
    orders.retry(last["id"], dead=True)

    [message] = arrived()

    told = message.header_texts
    assert told["X-Querator-Source-Queue"] == "orders"
    assert told["X-Querator-Source-ID"] == last["id"]
    assert (told["X-Querator-Dead-Reason"], told["X-Querator-Attempts"]) == ("nacked", "2")
    history = json.loads(told["X-Querator-History"])
    assert [(one["attempt"], one["reason"], one["client"]) for one in history] == [
        (1, "nacked", "Jürgen"),
        (2, "nacked", "second"),
    ]
    [item] = dead.items(partition=message.partition)
    assert (item["source_id"], item["kind"], item["reference"], item["attempts"]) == (last["id"], "order", "r-1", 0)
    assert item["id"] != last["id"]
    assert payloads(dead.lease()) == ["a"]
    assert orders.items() == orders.scheduled() == []


def test_the_last_attempt_ends_there_whoever_ended_it(orders: Line) -> None:
    orders.produce("a")
    for _ in range(3):
        orders.lease()
        run_out()

    [message] = arrived()

    assert message.headers["X-Querator-Dead-Reason"] == "ack_timeout"
    assert len(json.loads(message.headers["X-Querator-History"])) == 3


def test_what_waited_too_long_lands_there_too(orders: Line) -> None:
    orders.produce("a", "b")
    DeliveryJob.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    expire_old()

    assert [bytes(message.payload) for message in arrived()] == [b"a", b"b"]
    assert {message.headers["X-Querator-History"] for message in arrived()} == {"[]"}


def test_a_death_is_told_once(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    orders.retry(item["id"], dead=True)

    orders.retry(item["id"], dead=True)
    DeliveryJob.objects.filter(status=1004).update(status_changed_at=timezone.now())

    assert len(arrived()) == 1


def test_there_is_no_letter_beside_the_item_in_the_dead_queue(orders: Line, make_queue: Make) -> None:
    """Requeued from there it would be twice in the world; without a dead queue operators have the letter."""
    alone = make_queue("alone")
    for queue in (orders, alone):
        queue.produce("a")
        [item] = queue.lease()
        queue.retry(item["id"], dead=True)

    assert [letter.channel.public_id for letter in DeadLetter.objects.select_related("channel")] == ["alone"]


def test_without_its_dead_queue_an_item_leaves_a_letter(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    forget("dead")

    orders.retry(item["id"], dead=True)

    assert [letter.channel.public_id for letter in DeadLetter.objects.select_related("channel")] == ["orders"]
    assert Message.objects.count() == 1
    assert orders.client.call("queues.info", queue_name="orders")["dead_queue"] == ""
    orders.client.call("queues.update", queue_name="orders", max_attempts=5)
    assert Channel.objects.get(public_id="orders").dead_letters == "keep"


@pytest.mark.parametrize("deleted", [True, False])
def test_a_death_while_the_dead_queue_is_being_deleted_waits_for_it(orders: Line, deleted: bool) -> None:
    """Then it is a letter or an item of the dead queue, never both, never none."""
    orders.produce("a")
    [item] = orders.lease()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            forget("dead")
            death = threads.submit(orders.retry, item["id"], dead=True)
            wait_until(somebody_waits, 10)
            transaction.set_rollback(not deleted)
        death.result()

    assert (DeadLetter.objects.count(), Message.objects.count()) == ((1, 1) if deleted else (0, 2))


def test_a_cleared_item_is_not_sent_on(orders: Line) -> None:
    orders.produce("a", "b")
    orders.lease(size=1)
    DeliveryJob.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    orders.client.call("queue.clear", queue_name="orders", queue=True, destructive=True)

    assert arrived() == []
    assert set(DeliveryJob.objects.values_list("status", "reason")) == {(1004, "expired")}


def test_an_expunged_payload_is_not_sent_on(orders: Line) -> None:
    orders.produce("secret")

    services.expunge(message=Message.objects.get(), by="tests")

    assert arrived() == []


def test_an_expunged_payload_is_in_no_dead_queue_either(orders: Line, dead: Line) -> None:
    orders.produce("secret")
    orders.produce("other")
    first, second = orders.lease()
    for item in (first, second):
        orders.retry(item["id"], dead=True)
    arrived()

    services.expunge(message=Message.objects.earliest("pk"), by="tests")

    copies = [(bytes(copy.payload), copy.expunged_by) for copy in arrived()]
    assert copies == [(b"", "tests"), (b"other", None)]
    assert [item["payload"] for partition in (0, 1) for item in dead.items(partition=partition)] == ["b3RoZXI="]


def test_what_ends_with_its_queue_is_not_sent_on(orders: Line) -> None:
    orders.produce("a")
    orders.client.call("queues.delete", queue_name="orders")

    bury_gone()

    assert DeliveryJob.objects.get().reason == "channel_gone"
    assert arrived() == []


def test_items_of_a_dead_queue_go_nowhere_else(orders: Line, dead: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    orders.retry(item["id"], dead=True)
    arrived()
    leased = dead.client.call("queue.lease", queue_name="dead", client_id="c", batch_size=1, request_timeout="50ms")

    asked = {"queue_name": "dead", "partition": leased["partition"]}
    dead.client.call("queue.retry", items=[{"id": leased["items"][0]["id"], "dead": True}], **asked)

    assert Message.objects.count() == 2
