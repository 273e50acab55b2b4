"""A message for later that takes the place of the one with its id, on real connections at once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from psycopg import AsyncConnection

from channels_app import counts
from channels_app.models import Channel, Message, MessageKey, Producer
from scheduling_app import dispatch
from scheduling_app.accept import Later, Times
from scheduling_app.dispatch import Lane
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from scheduling_app.replace import Replaced, store_or_replace
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.messages import make_messages
from tests.channels_app.registry import make_channel, make_producer
from tests.scheduling_app.later import make_scheduled
from tests.scheduling_app.test_lifecycle import Waiting

pytestmark = pytest.mark.django_db(transaction=True)

AT = Times(asked=1_893_499_200_000_001, due=1_893_499_201_000_000)


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def shop() -> Producer:
    return make_producer()


def replace(*several: Later) -> list[Replaced]:
    return at_once(store_or_replace, *several)


def later(channel: Channel, producer: Producer, payload: bytes = b"new", **more: Any) -> Later:
    return Later(incoming((channel.pk, producer.pk), "m", payload, **more), AT)


def test_the_first_of_its_id_is_new(channel: Channel, shop: Producer) -> None:
    first = later(channel, shop)

    assert replace(first._replace(message=first.message._replace(partition=2))) == [Replaced(is_new=True, partition=2)]
    row = ScheduledMessage.objects.get()
    assert (bytes(row.payload), row.partition) == (b"new", 2)
    assert MessageKey.objects.values_list("row_id", "scheduled").get() == (row.pk, True)


def test_the_next_takes_its_place_and_keeps_its_partition(channel: Channel, shop: Producer) -> None:
    first = make_scheduled(channel, shop, "m", payload=b"old", priority=9, partition=5, headers={"X-Old": "1"})

    [done] = replace(later(channel, shop, content_type="text/x", priority=-1, headers={"X-A": "caf\xe9"}))

    assert (done.is_stored, done.is_new, done.partition) == (True, False, 5)
    row = ScheduledMessage.objects.get()
    assert (row.pk, row.created_at, row.partition, row.status) == (first.pk, first_created(first), 5, 100)
    content = (bytes(row.payload), row.content_type, row.priority, row.headers)
    assert content == (b"new", "text/x", -1, {"X-A": "caf\xe9"})
    assert (row.scheduled_for.isoformat(), row.due_at.isoformat()) == (
        "2030-01-01T12:00:00.000001+00:00",
        "2030-01-01T12:00:01+00:00",
    )
    assert not counts.check().total


def first_created(row: ScheduledMessage) -> Any:
    row.refresh_from_db()
    return row.created_at


@pytest.mark.parametrize("status", [101, 102, 103])
def test_one_that_does_not_wait_is_not_replaced(channel: Channel, shop: Producer, status: int) -> None:
    make_scheduled(channel, shop, "m", status=status)
    before = ScheduledMessage.objects.values().get()

    assert replace(later(channel, shop)) == [Replaced(status=ScheduledStatus(status))]
    assert ScheduledMessage.objects.values().get() == before


def test_a_message_for_now_is_not_replaced(channel: Channel, shop: Producer) -> None:
    make_messages(channel, "m")

    assert replace(later(channel, shop)) == [Replaced(status=None)]
    assert not ScheduledMessage.objects.exists()


def test_another_producers_message_is_not_replaced(channel: Channel, shop: Producer) -> None:
    make_scheduled(channel, make_producer("other"), "m", payload=b"old")

    assert replace(later(channel, shop)) == [Replaced(status=ScheduledStatus.SCHEDULED)]
    assert bytes(ScheduledMessage.objects.get().payload) == b"old"


def test_the_same_id_in_another_channel_is_another_message(channel: Channel, shop: Producer) -> None:
    make_scheduled(make_channel("another"), shop, "m", payload=b"old")

    assert [done.is_new for done in replace(later(channel, shop))] == [True]
    assert {bytes(row.payload) for row in ScheduledMessage.objects.all()} == {b"old", b"new"}


def test_many_at_once_all_come_through_and_leave_one_row(channel: Channel, shop: Producer) -> None:
    payloads = [f"p{number}".encode() for number in range(12)]

    done = replace(*(later(channel, shop, payload) for payload in payloads))

    assert all(one.is_stored for one in done)
    assert sum(one.is_new for one in done) == 1
    assert (ScheduledMessage.objects.count(), MessageKey.objects.count()) == (1, 1)
    assert bytes(ScheduledMessage.objects.get().payload) in payloads
    assert not counts.check().total


def test_the_last_to_commit_wins(channel: Channel, shop: Producer) -> None:
    """The second waits for the row, and writes over what the first has written."""
    make_scheduled(channel, shop, "m", payload=b"old")

    with transaction.atomic():
        ScheduledMessage.objects.filter(message_id="m").change(payload=b"first", priority=5)
        second = Waiting(lambda: replace(later(channel, shop, b"second"))).until_it_waits()

    assert [one.is_stored for one in second.join()] == [True]
    row = ScheduledMessage.objects.get()
    assert (bytes(row.payload), row.priority) == (b"second", 0)


def test_a_first_that_is_taken_back_makes_the_second_new(channel: Channel, shop: Producer) -> None:
    with transaction.atomic():
        make_scheduled(channel, shop, "m", payload=b"first")
        second = Waiting(lambda: replace(later(channel, shop, b"second"))).until_it_waits()
        transaction.set_rollback(True)

    assert [one.is_new for one in second.join()] == [True]
    assert bytes(ScheduledMessage.objects.get().payload) == b"second"


def test_a_dispatch_under_way_has_won(channel: Channel, shop: Producer) -> None:
    make_scheduled(channel, shop, "m", payload=b"old", scheduled_for=timezone.now() - timedelta(minutes=1))

    with transaction.atomic():
        assert dispatch.dispatch_batch(Lane(channel.pk, 0)).messages == 1
        second = Waiting(lambda: replace(later(channel, shop))).until_it_waits()

    assert second.join() == [Replaced(status=ScheduledStatus.DISPATCHED)]
    assert bytes(Message.objects.get().payload) == b"old"


def test_a_dispatch_passes_over_one_that_is_being_replaced(channel: Channel, shop: Producer) -> None:
    make_scheduled(channel, shop, "m", scheduled_for=timezone.now() - timedelta(minutes=1))
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}

    async def replace_slowly() -> None:
        async with await AsyncConnection.connect(**address) as own, own.transaction():
            assert (await store_or_replace(own, later(channel, shop))).is_stored
            assert (await asyncio.to_thread(lambda: Waiting(dispatched).join())).is_empty

    def dispatched() -> Any:
        return dispatch.dispatch_batch(Lane(channel.pk, 0))

    asyncio.run(replace_slowly())

    assert dispatched().is_empty
    assert bytes(ScheduledMessage.objects.waiting().get().payload) == b"new"
