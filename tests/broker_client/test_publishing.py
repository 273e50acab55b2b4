"""Publishing: what is sent, what is sent again, and what counts as stored."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker_client import AsyncBroker, Broker, Conflict, Limited, Outgoing, Unavailable, Unreachable
from tests.acceptance.servers import free_port
from tests.broker_client.conftest import QUICK, TOKENS
from tests.broker_client.small_broker import DROPPED, LOST, SmallBroker, busy


@pytest.mark.parametrize(
    ("payload", "body", "content_type"),
    [
        (b"\xff\x00", b"\xff\x00", "application/octet-stream"),
        ("grüße", "grüße".encode(), "text/plain; charset=utf-8"),
        ({"order": 7}, b'{"order": 7}', "application/json"),
        ([], b"[]", "application/json"),
    ],
)
def test_bytes_and_texts_go_as_they_are_and_all_else_as_json(
    small: SmallBroker, broker: Broker, payload: Any, body: bytes, content_type: str
) -> None:
    broker.publish("orders", payload)

    [heard] = small.heard
    assert (heard.body, heard.headers["content-type"]) == (body, content_type)


def test_everything_said_about_a_message_is_sent(small: SmallBroker, broker: Broker) -> None:
    time = datetime(2031, 1, 2, 3, 4, 5, tzinfo=UTC)
    stored = broker.publish(
        "orders", "x", message_id="m-1", priority=-3, headers={"X-Trace": "a b"}, content_type="a/b", scheduled_for=time
    )

    headers = small.heard[0].headers
    assert stored.message_id == headers["x-broker-message-id"] == "m-1"
    assert headers["x-broker-message-priority"] == "-3"
    assert (headers["x-broker-metadata-headers"], headers["x-trace"]) == ("X-Trace", "a b")
    assert headers["content-type"] == "a/b"
    assert headers["x-broker-scheduled-for"] == "2031-01-02T03:04:05Z"
    assert headers["x-broker-channel-token"] == "open-sesame"
    assert (headers["x-broker-producer-id"], headers["x-broker-producer-token"]) == ("shop", "sell")
    assert "authorization" not in headers


def test_a_delay_is_a_time_from_now(small: SmallBroker, broker: Broker) -> None:
    before = datetime.now(UTC)
    broker.publish("orders", "x", delay=timedelta(hours=1))
    broker.publish("orders", "x", delay=3600)

    for heard in small.heard:
        due = datetime.fromisoformat(heard.headers["x-broker-scheduled-for"])
        assert before + timedelta(hours=1) <= due <= datetime.now(UTC) + timedelta(hours=1)


def test_a_time_without_a_zone_is_refused_before_it_is_sent(small: SmallBroker, broker: Broker) -> None:
    with pytest.raises(ValueError, match="time zone"):
        broker.publish("orders", "x", scheduled_for=datetime(2031, 1, 1))  # noqa: DTZ001
    assert small.heard == []


@pytest.mark.parametrize("mishap", [LOST, DROPPED, busy(), busy(429)], ids=["lost", "dropped", "503", "429"])
def test_sent_again_a_message_is_stored_once_and_the_caller_sees_nothing(
    small: SmallBroker, broker: Broker, mishap: Any
) -> None:
    small.mishaps.append(mishap)

    stored = broker.publish("orders", "hello")

    first, second = small.heard
    assert first.headers["x-broker-message-id"] == second.headers["x-broker-message-id"] == stored.message_id
    assert stored.location == f"/channel/orders/message/{stored.message_id}"
    assert small.messages == {stored.message_id: b"hello"}


def test_an_id_used_by_somebody_else_is_a_conflict_also_after_a_retry(small: SmallBroker, broker: Broker) -> None:
    broker.publish("orders", "mine", message_id="m")
    small.mishaps.append(busy())

    with pytest.raises(Conflict) as caught:
        broker.publish("orders", "other", message_id="m")
    assert (caught.value.status, caught.value.code) == (409, "duplicate_message")


def test_an_id_used_before_is_a_conflict_when_it_is_no_retry_of_ours(small: SmallBroker, broker: Broker) -> None:
    broker.publish("orders", "mine", message_id="m")

    with pytest.raises(Conflict):
        broker.publish("orders", "mine", message_id="m")


def test_a_batch_is_stored_once_when_its_answer_was_lost(small: SmallBroker, broker: Broker) -> None:
    small.mishaps.append(LOST)

    stored = broker.publish_batch("orders", ["a", b"\xff", {"n": 1}, Outgoing("b", message_id="mine", priority=2)])

    items = [json.loads(line) for line in small.heard[0].body.splitlines()]
    assert [item.get("payload", item.get("payloadBase64")) for item in items] == ["a", "/w==", '{"n": 1}', "b"]
    assert items[2]["contentType"] == "application/json"
    assert [one.message_id for one in stored] == list(small.messages) == [item["messageId"] for item in items]
    assert stored[3].location == "/channel/orders/message/mine"


def test_retries_come_to_an_end(small: SmallBroker) -> None:
    small.mishaps.extend([busy()] * 20)

    with Broker(small.url, retries=QUICK, **TOKENS) as broker, pytest.raises(Unavailable) as caught:
        broker.publish("orders", "x")
    assert len(small.heard) == 1 + QUICK.most
    assert (caught.value.status, caught.value.code) == (503, "busy")


def test_who_is_told_to_wait_for_long_gets_the_error_at_once(small: SmallBroker, broker: Broker) -> None:
    small.mishaps.append(busy(429, "3600"))

    with pytest.raises(Limited) as caught:
        broker.publish("orders", "x")
    assert caught.value.retry_after_seconds == 3600
    assert len(small.heard) == 1


def test_a_broker_that_is_not_there_is_unreachable() -> None:
    with (
        Broker(f"http://127.0.0.1:{free_port()}", retries=QUICK, **TOKENS) as broker,
        pytest.raises(Unreachable) as caught,
    ):
        broker.publish("orders", "x")
    assert caught.value.is_passing


def test_the_async_twin_sends_the_same(small: SmallBroker) -> None:
    async def act() -> tuple[str, int]:
        async with AsyncBroker(small.url, retries=QUICK, **TOKENS) as broker:
            small.mishaps.append(LOST)
            stored = await broker.publish("orders", {"a": 1}, message_id="m")
            return stored.message_id, len(await broker.publish_batch("orders", ["x", "y"]))

    assert asyncio.run(act()) == ("m", 2)
    assert small.messages["m"] == b'{"a": 1}'
