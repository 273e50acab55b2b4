"""queue.stats and queue.clear."""

import httpx

from channels_app.api.pull.waiting import desk
from channels_app.delivery.sweeps import fold_counters
from channels_app.models import DeliveryJob
from scheduling_app.models import ScheduledMessage
from scheduling_app.querator import clearing, queues
from tests.scheduling_app.querator.client import Line
from tests.scheduling_app.querator.conftest import Make
from tests.scheduling_app.querator.test_lease import asking
from tests.scheduling_app.querator.test_produce import ahead, payloads


def fill(orders: Line) -> None:
    """Three in line, one leased, one retried for later, two produced for later."""
    orders.produce("leased", "retried", "a", "b", "c")
    _, retried = orders.lease(size=2)
    orders.retry(retried["id"], retry_at=ahead(minutes=1))
    orders.produce("x", "y", enqueue_at=ahead(minutes=1))


def test_stats_count_what_is_there(orders: Line) -> None:
    fill(orders)
    for _ in range(2):
        [told] = orders.stats()
        assert (told["partition"], told["total"], told["total_leased"], told["scheduled"]) == (0, 4, 1, 3)
        assert (told["un_leased"], told["failures"]) == (3, 0)
        assert told["average_age"].endswith("s")
        # Folded or not.
        fold_counters()


def test_stats_of_an_empty_queue_are_zero(make_queue: Make) -> None:
    orders = make_queue("orders", requested_partitions=2)

    first, second = orders.stats()

    assert (first.pop("partition"), second.pop("partition")) == (0, 1)
    assert first == second
    assert (first["total"], first["average_age"]) == (0, "0s")


def test_stats_are_by_partition(make_queue: Make) -> None:
    orders = make_queue("orders", requested_partitions=2)
    orders.produce("a", "b", "c")
    DeliveryJob.objects.filter(message__payload=b"a").update(partition=1)
    DeliveryJob.objects.exclude(message__payload=b"a").update(partition=0)
    orders.lease()

    told = orders.stats()

    assert sorted((one["total"], one["total_leased"]) for one in told) in ([(1, 0), (2, 2)], [(1, 1), (2, 0)])


def test_who_waits_is_counted(orders: Line) -> None:
    told: list[httpx.Response] = []

    async def look(client: httpx.AsyncClient) -> None:
        told.append(await client.post("/v1/queue.stats", json={"queue_name": "orders"}))
        desk().close()

    orders.client.while_waiting(asking(request_timeout="15m"), look)

    [logical] = told[0].json()["logicalQueues"]
    assert (logical["lease_waiting"], logical["in_flight"], logical["produce_waiting"]) == (1, 1, 0)


def test_clearing_the_line_leaves_what_is_leased_and_what_waits(orders: Line) -> None:
    fill(orders)

    orders.client.call("queue.clear", queue_name="orders", queue=True)

    assert payloads(orders.items(), "payload") == ["leased"]
    assert len(orders.scheduled()) == 3


def test_clearing_the_scheduled_leaves_the_line(orders: Line) -> None:
    fill(orders)

    orders.client.call("queue.clear", queue_name="orders", scheduled=True)

    assert orders.scheduled() == []
    assert payloads(orders.items(), "payload") == ["leased", "a", "b", "c"]
    assert set(ScheduledMessage.objects.values_list("status", "reason")) == {(102, "cleared")}
    [told] = orders.stats()
    assert (told["scheduled"], told["total"]) == (0, 4)


def test_destructive_takes_what_is_leased_too(orders: Line) -> None:
    fill(orders)
    [held] = [item["id"] for item in orders.items() if item["is_leased"]]

    orders.client.call("queue.clear", queue_name="orders", queue=True, scheduled=True, destructive=True)

    assert orders.items() == orders.scheduled() == []
    asked = {"queue_name": "orders", "request_timeout": "5s", "ids": [held]}
    assert orders.client.refused("queue.complete", **asked)[0] == 409


def test_clearing_goes_in_batches_and_leaves_what_came_after_its_beginning(orders: Line) -> None:
    orders.produce(*["old"] * 1000)
    orders.produce("old")
    queue, until = queues.info("orders"), clearing.newest()
    orders.produce("new")

    assert clearing.clear_line(queue, until)
    assert payloads(orders.items(), "payload") == ["old", "new"]
    assert clearing.clear_line(queue, until)
    assert not clearing.clear_line(queue, until)
    assert payloads(orders.items(), "payload") == ["new"]


def test_clearing_the_scheduled_leaves_what_came_after_its_beginning(orders: Line) -> None:
    orders.produce("old", enqueue_at=ahead(minutes=1))
    queue, until = queues.info("orders"), clearing.newest()
    orders.produce("new", enqueue_at=ahead(minutes=1))

    assert clearing.clear_later(queue, until)
    assert not clearing.clear_later(queue, until)

    assert payloads(orders.scheduled(), "payload") == ["new"]


def test_clear_must_say_what(orders: Line) -> None:
    message = "invalid clear request; one of 'queue', 'scheduled' must be true"
    assert orders.client.refused("queue.clear", queue_name="orders", destructive=True) == (400, message)
    assert orders.client.refused("queue.clear", queue_name="none", queue=True)[0] == 404
    assert orders.client.refused("queue.clear", queue_name="orders", queue=1)[0] == 455


def test_another_queue_is_not_cleared(make_queue: Make, orders: Line) -> None:
    letters = make_queue("letters")
    fill(letters)

    orders.client.call("queue.clear", queue_name="orders", queue=True, scheduled=True, destructive=True)

    assert (len(letters.items()), len(letters.scheduled())) == (4, 3)
