"""The Python client against a running broker: registration, publishing, messages for later."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from broker_client import (
    AsyncBroker,
    Broker,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Outgoing,
    PreconditionFailed,
    Unauthorized,
)
from tests.acceptance.clients import Shop, shop
from tests.acceptance.engine import Engine
from tests.acceptance.servers import wait_until


@pytest.fixture
def orders(engine: Engine) -> Iterator[Shop]:
    with shop(engine) as made:
        yield made


def test_what_is_put_twice_is_changed_the_second_time(orders: Shop) -> None:
    broker = orders.broker
    broker.put_consumer(orders.channel, "audit", type="pull", token="a", ack_timeout_seconds=30)
    changed = broker.put_consumer(orders.channel, "audit", retry_policy={"retries": 7, "initial_seconds": 2})

    shown = broker.consumer(orders.channel, "audit")
    assert (shown.id, shown.token, shown.changed_at) == ("audit", "a", changed.changed_at)
    assert shown.settings["ackTimeoutSeconds"] == 30
    assert (shown.settings["retryPolicy"]["retries"], shown.settings["retryPolicy"]["initialSeconds"]) == (7, 2)
    assert broker.producer("shop").id == "shop"
    assert broker.channel(orders.channel).id == orders.channel

    broker.delete_consumer(orders.channel, "audit")
    with pytest.raises(NotFound):
        broker.consumer(orders.channel, "audit")


def test_a_published_message_is_read_back_whole(orders: Shop) -> None:
    stored = orders.broker.publish(
        orders.channel, b"\xff\x00", priority=3, headers={"X-Trace": "grüße"}, content_type="image/x"
    )

    shown = orders.broker.message(orders.channel, stored.message_id)
    assert shown.message.payload == b"\xff\x00"
    assert (shown.message.content_type, shown.priority) == ("image/x", 3)
    assert shown.message.headers == {"X-Trace": "grüße"}
    assert shown.received_at is not None
    assert shown.received_at.tzinfo is not None
    wait_until(lambda: orders.broker.message(orders.channel, stored.message_id).status == "DISPATCHED", 30)
    [job] = orders.broker.message(orders.channel, stored.message_id).jobs
    assert (job.status, job.attempt) == ("QUEUED", 0)


def test_a_batch_is_all_or_nothing(orders: Shop) -> None:
    stored = orders.broker.publish_batch(
        orders.channel, [{"n": 1}, "two", b"\xff", Outgoing("four", message_id="4", priority=9)]
    )
    shown = [orders.broker.message(orders.channel, one.message_id) for one in stored]
    assert [one.message.payload for one in shown] == [b'{"n": 1}', b"two", b"\xff", b"four"]
    assert shown[0].message.json() == {"n": 1}
    assert (shown[3].message.id, shown[3].priority) == ("4", 9)

    with pytest.raises(Conflict) as caught:
        orders.broker.publish_batch(orders.channel, [Outgoing("new", message_id="5"), Outgoing("x", message_id="4")])
    assert [error["field"] for error in caught.value.errors] == ["[1].messageId"]
    with pytest.raises(NotFound):
        orders.broker.message(orders.channel, "5")


def test_a_message_for_later_is_put_off_cancelled_or_sent_at_once(orders: Shop) -> None:
    broker, channel = orders.broker, orders.channel
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    assert broker.publish(channel, "later", message_id="a", scheduled_for=due).is_scheduled
    broker.publish(channel, "now", message_id="b", delay=timedelta(days=1))

    moved = broker.reschedule(channel, "a", scheduled_for=due + timedelta(hours=1))
    assert moved.scheduled_for == due + timedelta(hours=1)
    broker.cancel(channel, "a")
    assert broker.scheduled_message(channel, "a").status == "CANCELLED"
    with pytest.raises(Conflict) as caught:
        broker.cancel(channel, "a")
    assert caught.value.code == "already_cancelled"

    broker.dispatch_now(channel, "b")
    wait_until(lambda: broker.scheduled_message(channel, "b").status == "DISPATCHED", 30)
    assert broker.message(channel, "b").message.text() == "now"


def test_a_producer_needs_no_api_key_to_change_its_mind(orders: Shop) -> None:
    with Broker(orders.url, producer="shop", producer_token="sell", **orders.tokens) as broker:
        broker.publish(orders.channel, "x", message_id="m", delay=3600)
        broker.cancel(orders.channel, "m")
        assert broker.scheduled_message(orders.channel, "m").status == "CANCELLED"


def test_refusals_are_errors_by_kind(orders: Shop) -> None:
    broker, channel = orders.broker, orders.channel
    with pytest.raises(PreconditionFailed) as early:
        broker.publish(channel, "x", delay=1)
    assert early.value.code == "scheduled_too_soon"
    with pytest.raises(NotFound) as nowhere:
        broker.message("nowhere", "m")
    assert nowhere.value.code == "unknown_channel"
    with pytest.raises(Invalid) as empty:
        broker.publish(channel, b"")
    assert (empty.value.status, empty.value.code) == (400, "empty_payload")
    broker.publish(channel, "x", message_id="m")
    with pytest.raises(Conflict) as used:
        broker.publish(channel, "x", message_id="m")
    assert used.value.code == "duplicate_message"
    with Broker(orders.url, producer="shop", producer_token="wrong", **orders.tokens) as other:
        with pytest.raises(Forbidden):
            other.publish(channel, "x")
        with pytest.raises(Unauthorized):
            other.put_channel(channel, name="mine now")


def test_the_async_twin_does_the_same(orders: Shop) -> None:
    async def act() -> list[str]:
        async with AsyncBroker(orders.url, producer="shop", producer_token="sell", **orders.tokens) as broker:
            stored = await asyncio.gather(*(broker.publish(orders.channel, {"n": n}) for n in range(20)))
            await broker.publish(orders.channel, "later", message_id="a", delay=timedelta(days=1))
            await broker.cancel(orders.channel, "a")
            return [(await broker.message(orders.channel, one.message_id)).message.id for one in stored]

    assert len(set(asyncio.run(act()))) == 20
