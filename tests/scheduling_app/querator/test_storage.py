"""storage/items.list and storage/scheduled.list."""

from typing import Any

import pytest

from channels_app.models import DeliveryJob
from scheduling_app.dispatch import Lane, dispatch_batch
from scheduling_app.models import ScheduledMessage
from tests.scheduling_app.querator.client import Line
from tests.scheduling_app.querator.conftest import Make
from tests.scheduling_app.querator.test_produce import ahead, payloads


def shown(items: list[dict[str, Any]]) -> list[str]:
    return payloads(items, "payload")


def test_items_are_listed_by_age_leased_or_not(orders: Line) -> None:
    orders.produce("a", "b", "c", reference="r")
    orders.lease(size=1)

    items = orders.items()

    assert shown(items) == ["a", "b", "c"]
    assert [(item["is_leased"], item["attempts"]) for item in items] == [(True, 1), (False, 0), (False, 0)]
    assert ["lease_deadline" in item for item in items] == [True, False, False]
    assert {item["reference"] for item in items} == {"r"}
    assert all(item["expire_deadline"] > item["created_at"] for item in items)


def test_a_page_begins_with_its_pivot_or_with_the_next_one(orders: Line) -> None:
    orders.produce("a", "b", "c", "d")
    first, second, *_ = orders.items()

    assert shown(orders.items(pivot=second["id"], limit=2)) == ["b", "c"]
    [leased] = orders.lease(size=1)
    orders.complete(leased["id"])
    assert shown(orders.items(pivot=first["id"], limit=1)) == ["b"]


def test_each_partition_is_listed_for_itself(make_queue: Make) -> None:
    orders = make_queue("orders", requested_partitions=2)
    orders.produce("a", "b")
    DeliveryJob.objects.filter(message__payload=b"a").update(partition=1)
    DeliveryJob.objects.filter(message__payload=b"b").update(partition=0)

    assert shown(orders.items(partition=1)) == ["a"]
    assert shown(orders.items(partition=0)) == ["b"]


def test_items_of_other_doors_are_listed_too(orders: Line) -> None:
    """Whatever priority another door gave them: by age."""
    orders.produce("a", "b", "c")
    DeliveryJob.objects.filter(message__payload=b"c").update(priority=5)
    DeliveryJob.objects.filter(message__payload=b"a").update(priority=-5)

    assert shown(orders.items()) == ["a", "b", "c"]


def test_a_page_ends_when_it_is_large_enough(orders: Line) -> None:
    for letter in "abc":
        orders.produce(letter * 4_500_000)

    items = orders.items()

    assert [item["payload"][:4] for item in items] == ["YWFh", "YmJi"]
    assert len(orders.items(pivot=items[-1]["id"])) == 2


def test_scheduled_items_are_listed_by_their_time_and_only_there(orders: Line) -> None:
    for text, minutes in (("c", 3), ("a", 1), ("b", 2)):
        orders.produce(text, enqueue_at=ahead(minutes=minutes))

    assert shown(orders.scheduled()) == ["a", "b", "c"]
    assert orders.items() == []
    first, second, _ = orders.scheduled()
    assert shown(orders.scheduled(pivot=second["id"])) == ["b", "c"]
    assert shown(orders.scheduled(pivot=first["id"], limit=1)) == ["a"]
    assert first.keys() >= {"enqueue_at", "created_at"}
    assert "expire_deadline" not in first


def test_what_is_produced_and_what_is_retried_for_later_are_one_list(orders: Line) -> None:
    orders.produce("retried")
    orders.produce("early", enqueue_at=ahead(minutes=1))
    orders.produce("late", enqueue_at=ahead(minutes=3))
    [item] = orders.lease()
    orders.retry(item["id"], retry_at=ahead(minutes=2))

    early, retried, late = orders.scheduled()

    assert shown([early, retried, late]) == ["early", "retried", "late"]
    assert shown(orders.scheduled(limit=2)) == ["early", "retried"]
    assert shown(orders.scheduled(pivot=retried["id"])) == ["retried", "late"]
    assert shown(orders.scheduled(pivot=late["id"])) == ["late"]


def test_a_pivot_that_is_gone_leads_to_what_comes_after_it(orders: Line) -> None:
    orders.produce("a", enqueue_at=ahead(minutes=1))
    orders.produce("b", enqueue_at=ahead(minutes=2))
    [first, _] = orders.scheduled()
    ScheduledMessage.objects.filter(payload=b"a").cancel()

    assert shown(orders.scheduled(pivot=first["id"])) == ["b"]
    assert shown(orders.scheduled(pivot="0-s999999")) == ["b"]
    assert shown(orders.scheduled(pivot="0-999999-1")) == ["b"]


def test_ten_items_of_one_moment_come_in_the_order_in_which_they_were_produced(orders: Line) -> None:
    due = ahead(minutes=1)
    letters = "abcdefghij"
    orders.produce(*letters[:4], enqueue_at=due)
    for letter in letters[4:]:
        orders.produce(letter, enqueue_at=due)
    later = ScheduledMessage.objects.first()
    assert later is not None

    done = dispatch_batch(Lane(later.channel_id, 0), now=later.due_at)

    assert done.messages == 10
    assert shown(orders.items()) == list(letters)
    assert payloads(orders.lease()) == list(letters)
    assert orders.scheduled() == []


@pytest.mark.parametrize("call", ["storage/items.list", "storage/scheduled.list"])
@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"queue_name": ""}, 400, "queue name is invalid; queue name cannot be empty"),
        ({"queue_name": "none"}, 404, "queue does not exist"),
        ({"partition": 4}, 400, "partition is invalid; '4' is not a valid partition"),
        ({"limit": -1}, 400, "limit is invalid; limit cannot be negative"),
        ({"limit": 65_537}, 400, "limit is invalid; cannot be greater than 65536"),
        ({"pivot": "here"}, 400, "invalid storage id; 'here'"),
        ({"pivot": "0-s9999999999999999999"}, 400, "invalid storage id"),
    ],
)
def test_a_bad_look_is_refused(orders: Line, call: str, fields: dict[str, Any], code: int, message: str) -> None:
    refused = orders.client.refused(call, **{"queue_name": "orders", **fields})

    assert refused[0] == code
    assert message in refused[1]
