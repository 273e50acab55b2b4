"""queue.complete and queue.retry."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app.delivery.sweeps import promote_due
from channels_app.models import DeliveryAttempt, DeliveryJob
from channels_app.pull.expiry import end_unacknowledged
from tests.scheduling_app.querator.client import Line
from tests.scheduling_app.querator.conftest import Make
from tests.scheduling_app.querator.test_produce import ahead, payloads


def run_out() -> None:
    """Leases are over, and the sweep has been."""
    DeliveryJob.objects.filter(status=1002).update(lease_until=timezone.now() - timedelta(seconds=1))
    end_unacknowledged()


def test_a_completed_item_is_done(orders: Line) -> None:
    orders.produce("a", "b")
    first, second = orders.lease()

    orders.complete(first["id"], second["id"])

    assert set(DeliveryJob.objects.values_list("status", flat=True)) == {1003}
    assert orders.items() == []
    assert orders.is_empty()


def test_what_was_said_may_be_said_again(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    orders.complete(item["id"])

    orders.complete(item["id"], item["id"])


def test_one_that_is_not_leased_refuses_all(orders: Line) -> None:
    orders.produce("a", "b")
    [item] = orders.lease(size=1)
    waiting = orders.items()[1]["id"]

    asked = {"queue_name": "orders", "request_timeout": "5s", "ids": [item["id"], waiting]}
    code, message = orders.client.refused("queue.complete", **asked)

    assert (code, "Nothing was changed" in message) == (409, True)
    assert [one["is_leased"] for one in orders.items()] == [True, False]


def test_another_queues_item_does_not_exist(make_queue: Make, orders: Line) -> None:
    letters = make_queue("letters")
    letters.produce("a")
    [item] = letters.lease()

    asked = {"queue_name": "orders", "request_timeout": "5s", "ids": [item["id"]]}

    assert orders.client.refused("queue.complete", **asked)[0] == 409
    assert orders.client.refused("queue.retry", queue_name="orders", items=[{"id": item["id"]}])[0] == 409


def test_who_lost_his_lease_can_say_nothing_of_the_item(orders: Line) -> None:
    orders.produce("a")
    [lost] = orders.lease()
    run_out()
    [held] = orders.lease()

    asked = {"queue_name": "orders", "request_timeout": "5s", "ids": [lost["id"]]}

    assert orders.client.refused("queue.complete", **asked)[0] == 409
    assert held["attempts"] == 2
    orders.complete(held["id"])


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"queue_name": ""}, 400, "queue name is invalid; queue name cannot be empty"),
        ({"queue_name": "none"}, 404, "queue does not exist"),
        ({"partition": 1}, 400, "partition is invalid; '1' is not a valid partition"),
        ({"partition": -1}, 400, "partition is invalid; '-1' is not a valid partition"),
        ({"ids": []}, 400, "ids is invalid; list of ids cannot be empty"),
        ({"ids": ["0-1-1"] * 1001}, 400, "ids is invalid; at most 1000 go into one request but received 1001"),
        ({"ids": ["nothing"]}, 400, "invalid storage id; 'nothing'"),
        ({"ids": ["0-99999999999999999999-1"]}, 400, "invalid storage id"),
        ({"ids": ["0-9223372036854775808-1"]}, 400, "invalid storage id"),
        ({"ids": ["0-1-9999999999"]}, 400, "invalid storage id"),
        ({"ids": ["0-s1"]}, 400, "invalid storage id; '0-s1'"),
        ({"ids": ["7-1-1"]}, 409, "'7-1-1' does not exist in partition 0"),
        ({"ids": ["0-999999-1"]}, 409, "is not leased"),
        ({"ids": [1]}, 455, "'ids[0]' is not a text"),
        ({"ids": "0-1-1"}, 455, "'ids' is not a list"),
        ({"request_timeout": ""}, 400, "request timeout is required"),
        ({"request_timeout": "1h"}, 400, "the maximum is '15m'"),
    ],
)
def test_a_bad_complete_is_refused(orders: Line, fields: dict[str, Any], code: int, message: str) -> None:
    good = {"queue_name": "orders", "request_timeout": "5s", "ids": ["0-1-1"]}

    refused = orders.client.refused("queue.complete", **{**good, **fields})

    assert refused[0] == code
    assert message in refused[1]


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"queue_name": ""}, 400, "queue name is invalid; queue name cannot be empty"),
        ({"queue_name": "none"}, 404, "queue does not exist"),
        ({"partition": 65234}, 400, "partition is invalid; '65234' is not a valid partition"),
        ({"items": []}, 400, "items is invalid; list of items cannot be empty"),
        ({"items": [{"id": "0-1-1"}] * 1001}, 400, "items is invalid; at most 1000 go into one request"),
        ({"items": [{"id": "invalid-id"}]}, 400, "invalid storage id; 'invalid-id'"),
        ({"items": [{}]}, 400, "invalid storage id; ''"),
        ({"items": [{"id": "0-999999-1"}]}, 409, "is not leased"),
        ({"items": [{"id": "0-1-1", "retry_at": "soon"}]}, 455, "'retry_at' is not a time"),
        ({"items": [{"id": "0-1-1", "dead": "yes"}]}, 455, "'dead' is not true or false"),
    ],
)
def test_a_bad_retry_is_refused(orders: Line, fields: dict[str, Any], code: int, message: str) -> None:
    good = {"queue_name": "orders", "items": [{"id": "0-1-1"}]}

    refused = orders.client.refused("queue.retry", **{**good, **fields})

    assert refused[0] == code
    assert message in refused[1]


@pytest.mark.parametrize("fields", [{}, {"retry_at": "2001-01-01T00:00:00Z"}])
def test_a_retry_without_a_time_to_come_is_there_at_once(orders: Line, fields: dict[str, Any]) -> None:
    orders.produce("a")
    [item] = orders.lease()

    orders.retry(item["id"], **fields)

    assert orders.scheduled() == []
    [again] = orders.lease()
    assert (again["attempts"], again["id"] != item["id"]) == (2, True)


def test_a_retry_at_a_time_to_come_waits_among_the_scheduled_and_nowhere_else(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    due = ahead(minutes=1)

    orders.retry(item["id"], retry_at=due)

    assert orders.items() == []
    [waiting] = orders.scheduled()
    assert (waiting["enqueue_at"], waiting["attempts"], waiting["is_leased"]) == (due, 1, False)
    assert orders.is_empty()
    DeliveryJob.objects.update(next_attempt_at=timezone.now())
    assert (len(orders.items()), orders.scheduled()) == (1, [])
    promote_due()
    assert [one["attempts"] for one in orders.lease()] == [2]


def test_a_retry_at_a_time_when_the_item_is_no_more_refuses_all(make_queue: Make) -> None:
    orders = make_queue("orders", expire_timeout="1h")
    orders.produce("a", "b")
    first, second = orders.lease()
    [until, _] = [item["expire_deadline"] for item in orders.items()]

    items = [{"id": first["id"], "retry_at": ahead(minutes=1)}, {"id": second["id"], "retry_at": until}]
    refused = orders.client.refused("queue.retry", queue_name="orders", items=items)

    assert refused == (400, f"items[1] is invalid; retry_at is not before {until}, when it expires")
    assert [item["is_leased"] for item in orders.items()] == [True, True]
    assert not DeliveryAttempt.objects.exists()
    orders.complete(first["id"], second["id"])


def test_one_that_is_dead_anyway_may_have_any_time(make_queue: Make) -> None:
    orders = make_queue("orders", max_attempts=1)
    orders.produce("a", "b")
    first, second = orders.lease()

    orders.retry(first["id"], retry_at=ahead(days=2))
    orders.retry(second["id"], retry_at=ahead(days=2), dead=True)

    assert set(DeliveryJob.objects.values_list("status", "reason")) == {(1004, "nacked")}


def test_dead_is_never_tried_again_and_kept_for_operators(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()

    orders.retry(item["id"], dead=True)

    job = DeliveryJob.objects.get()
    assert (job.status, job.reason) == (1004, "nacked")
    assert orders.items() == []


def test_dead_may_be_said_again_and_the_other_word_not(orders: Line) -> None:
    orders.produce("a")
    [item] = orders.lease()
    orders.retry(item["id"], dead=True)

    orders.retry(item["id"], dead=True)

    asked = {"queue_name": "orders", "request_timeout": "5s", "ids": [item["id"]]}
    assert orders.client.refused("queue.complete", **asked)[0] == 409
    assert DeliveryAttempt.objects.count() == 1


def test_so_many_attempts_and_no_more(make_queue: Make) -> None:
    orders = make_queue("orders", max_attempts=2)
    orders.produce("a")
    for attempts in (1, 2):
        [item] = orders.lease()
        assert item["attempts"] == attempts
        orders.retry(item["id"])

    assert DeliveryJob.objects.get().status == 1004


def test_a_lease_that_runs_out_is_an_attempt_too(make_queue: Make) -> None:
    orders = make_queue("orders", max_attempts=2)
    orders.produce("a")
    orders.lease()
    run_out()
    assert [(item["attempts"], item["is_leased"]) for item in orders.items()] == [(1, False)]
    orders.lease()
    run_out()

    job = DeliveryJob.objects.get()
    assert (job.status, job.reason) == (1004, "ack_timeout")


def test_no_number_of_attempts_is_no_end(orders: Line) -> None:
    """Nor is an item poison because its clients are lost."""
    orders.produce("a")
    for attempts in range(1, 13):
        [item] = orders.lease()
        assert item["attempts"] == attempts
        run_out()
    assert payloads(orders.lease()) == ["a"]
    assert DeliveryAttempt.objects.filter(reason="ack_timeout").count() == 12
