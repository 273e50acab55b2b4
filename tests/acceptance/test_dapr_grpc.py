"""Dapr's own Python SDK, unchanged, against the gRPC door of a running broker: publishing, and who may."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import grpc
import pytest
from dapr.clients import BulkPublishEntry
from dapr.clients.exceptions import DaprGrpcError

from tests.acceptance.dapr_door import Door, new_topic, opened, received
from tests.acceptance.engine import Engine
from tests.acceptance.servers import START_SECONDS, free_port

STORED = "SELECT count(*) FROM message m JOIN channel c ON c.id = m.channel_id WHERE c.public_id = %s"
WAITING = "SELECT count(*) FROM scheduled_message s JOIN channel c ON c.id = s.channel_id WHERE c.public_id = %s"


@pytest.fixture(scope="module")
def door(engine: Engine) -> Iterator[Door]:
    with opened(engine) as made:
        yield made


def refusal(error: pytest.ExceptionInfo[DaprGrpcError]) -> tuple[grpc.StatusCode, str]:
    """The status, and the reason that stands in its details."""
    return error.value.code(), error.value.status_details().error_info["reason"]


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


OWN_EVENT = (
    b'{"specversion": "1.0", "id": "mine-1", "source": "/till", "type": "sold", "sum": 1.50, "data": {"n" :1.0}}'
)


class Sent(NamedTuple):
    data: bytes
    content_type: str
    metadata: Mapping[str, str] = {}


RAW = {"rawPayload": "true"}
SENT = {
    "json": Sent(b'{"n":  1.0, "big": 12345678901234567890123}', "application/json"),
    "text": Sent("grüße".encode(), "text/plain; charset=utf-8"),
    "no-type": Sent(b"no type given", ""),
    "nothing": Sent(b"", "text/plain"),
    "raw-bytes": Sent(os.urandom(1024 * 1024), "application/octet-stream", RAW),
    "bytes": Sent(os.urandom(1024 * 1024), "application/octet-stream"),
    "raw-json": Sent(b'{"no": "envelope"}', "application/json", RAW),
    "own-event": Sent(OWN_EVENT, "application/cloudevents+json"),
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
@pytest.mark.parametrize("when", ["now", "later"])
def test_what_is_published_comes_out_byte_for_byte(door: Door, sent: Sent, when: str) -> None:
    topic = new_topic()
    asked = {**sent.metadata, **({"scheduledSendTime": in_seconds(1)} if when == "later" else {})}
    with door.subscribed(topic, pubsub="delayed") as subscription, door.client("till") as client:
        client.publish_event("delayed", topic, sent.data, asked, data_content_type=sent.content_type)
        [event] = received(subscription)
    assert event.raw_data() == (b'{"n" :1.0}' if sent.data == OWN_EVENT else sent.data)
    assert (event.topic(), event.pubsub_name(), event.spec_version()) == (topic, "delayed", "1.0")


def test_an_event_of_the_producers_own_keeps_its_attributes(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription, door.client("till") as client:
        client.publish_event("pubsub", topic, OWN_EVENT, data_content_type="application/cloudevents+json")
        [event] = received(subscription)
    assert (event.id(), event.source(), event.type()) == ("mine-1", "/till", "sold")
    assert event.extensions()["sum"] == 1.5
    assert event.extensions()["traceparent"].startswith("00-")


def test_a_made_event_says_who_sent_it_and_carries_what_was_asked_for(door: Door) -> None:
    topic = new_topic()
    asked = {"cloudevent.type": "sold", "cloudevent.till": "seven"}
    with door.subscribed(topic) as subscription, door.client("till") as client:
        client.publish_event("pubsub", topic, b"{}", asked, data_content_type="application/json")
        [event] = received(subscription)
    assert (event.source(), event.type(), event.data_content_type()) == ("till", "sold", "application/json")
    assert event.extensions()["till"] == "seven"


def test_an_event_for_later_comes_at_its_time(door: Door) -> None:
    topic, due = new_topic(), time.time() + 2
    with door.subscribed(topic, pubsub="delayed") as subscription, door.client("till") as client:
        asked = {"scheduledSendTime": datetime.fromtimestamp(due, UTC).isoformat()}
        client.publish_event("delayed", topic, "later", asked)
        assert door.rows(STORED, topic) == [(0,)]
        client.publish_event("delayed", topic, "now")
        events = received(subscription, 2)
    assert [event.raw_data() for event in events] == [b"now", b"later"]
    assert time.time() >= due


def test_a_time_is_refused_where_delayed_messaging_is_off(door: Door) -> None:
    topic = new_topic()
    with door.client("till") as client, pytest.raises(DaprGrpcError) as error:
        client.publish_event("pubsub", topic, "later", {"scheduledSendTime": in_seconds(60)})
    assert refusal(error) == (grpc.StatusCode.INVALID_ARGUMENT, "DAPR_PUBSUB_DELAYED_MESSAGING_DISABLED")
    assert error.value.status_details().error_info["metadata"]["errorCode"] == "ERR_PUBSUB_REQUEST_METADATA"
    assert (door.rows(STORED, topic), door.rows(WAITING, topic)) == ([(0,)], [(0,)])


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        (("nobody", "t", {}), grpc.StatusCode.NOT_FOUND, "NOT_FOUND"),
        (("pubsub", "", {}), grpc.StatusCode.INVALID_ARGUMENT, "TOPIC_NAME_EMPTY"),
        (("strict", "not-there", {}), grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN"),
        (("delayed", "t", {"deliverAt": "tomorrow"}), grpc.StatusCode.INVALID_ARGUMENT, "METADATA_DESERIALIZATION"),
        (("pubsub", "t", {"ttlInSeconds": "soon"}), grpc.StatusCode.INVALID_ARGUMENT, "METADATA_DESERIALIZATION"),
    ],
)
def test_a_refusal_is_a_status_with_a_reason(
    door: Door, asked: tuple[str, str, dict[str, str]], code: grpc.StatusCode, reason: str
) -> None:
    pubsub, topic, metadata = asked
    with door.client("till") as client, pytest.raises(DaprGrpcError) as error:
        client.publish_event(pubsub, topic, "x", metadata)
    assert refusal(error) == (code, f"DAPR_PUBSUB_{reason}")


def test_many_events_are_published_in_one_call(door: Door) -> None:
    topic, texts = new_topic(), [f"event {number}" for number in range(500)]
    with door.subscribed(topic) as subscription, door.client("till") as client:
        answer = client.publish_events("pubsub", topic, texts, data_content_type="text/plain")
        events = received(subscription, 500)
    assert answer.failed_entries == []
    assert sorted(event.data() for event in events) == sorted(texts)


def test_a_bulk_request_may_be_far_larger_than_an_event(door: Door) -> None:
    topic, entries = new_topic(), [os.urandom(900_000) for _ in range(20)]
    raw = {"rawPayload": "true"}
    with door.client("till") as client:
        answer = client.publish_events("pubsub", topic, entries, raw, data_content_type="application/octet-stream")
    assert answer.failed_entries == []
    assert door.rows(STORED, topic) == [(20,)]


def test_only_the_bad_entry_of_a_bulk_request_is_named_and_the_others_arrive(door: Door) -> None:
    topic = new_topic()
    entries = [
        BulkPublishEntry(event="good", entry_id="1"),
        BulkPublishEntry(event="bad", entry_id="2", metadata={"scheduledSendTime": "never"}),
        BulkPublishEntry(event="soon", entry_id="3", metadata={"scheduledSendTime": in_seconds(1)}),
    ]
    with door.subscribed(topic, pubsub="delayed") as subscription, door.client("till") as client:
        answer = client.publish_events("delayed", topic, entries, data_content_type="text/plain")
        events = received(subscription, 2)
    assert [entry.entry_id for entry in answer.failed_entries] == ["2"]
    assert [event.data() for event in events] == ["good", "soon"]


def test_a_bulk_request_with_one_id_twice_is_refused_whole(door: Door) -> None:
    topic = new_topic()
    entries = [BulkPublishEntry(event=text, entry_id="same") for text in ("one", "two")]
    with door.client("till") as client, pytest.raises(DaprGrpcError) as error:
        client.publish_events("pubsub", topic, entries)
    assert refusal(error) == (grpc.StatusCode.INVALID_ARGUMENT, "DAPR_PUBSUB_UNMARSHAL_EVENTS")
    assert door.rows(STORED, topic) == [(0,)]


def test_an_event_that_is_too_large_is_refused_and_the_next_is_taken(door: Door) -> None:
    topic = new_topic()
    with door.client("till") as client:
        with pytest.raises(DaprGrpcError) as error:
            client.publish_event("pubsub", topic, bytes(4 * 1024 * 1024))
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        client.publish_event("pubsub", topic, b"small")
    assert door.rows(STORED, topic) == [(1,)]


@pytest.mark.parametrize("token", ["", "wrong", "bk_wrong_but_shaped_like_one_of_ours"])
def test_without_a_token_that_opens_it_nothing_is_done(door: Door, token: str) -> None:
    topic = new_topic()
    with door.client("till", token=token) as client:
        with pytest.raises(DaprGrpcError) as error:
            client.publish_event("pubsub", topic, "x")
        with pytest.raises(Exception, match="UNAUTHENTICATED"):
            client.subscribe("pubsub", topic)
    assert refusal(error) == (grpc.StatusCode.UNAUTHENTICATED, "DAPR_API_TOKEN_INVALID")
    assert door.engine.web.get(f"/channel/{topic}").status_code == 404


def test_a_producers_token_says_who_it_is(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription, door.client(token="sell") as client:
        client.publish_event("pubsub", topic, "x")
        [event] = received(subscription)
    assert event.source() == "shop"


def test_a_producers_token_is_no_other_application(door: Door) -> None:
    topic = new_topic()
    with door.client("spoofed", token="sell") as client:
        with pytest.raises(DaprGrpcError) as error:
            client.publish_event("pubsub", topic, "x")
        with pytest.raises(Exception, match="PERMISSION_DENIED"):
            client.subscribe("pubsub", topic)
    assert refusal(error) == (grpc.StatusCode.PERMISSION_DENIED, "DAPR_APP_ID_FORBIDDEN")
    assert door.engine.web.get(f"/channel/{topic}").status_code == 404


def test_a_producers_token_opens_no_channel_but_daprs(door: Door) -> None:
    topic, web = new_topic(), door.engine.web
    web.put(f"/channel/{topic}", json={}).raise_for_status()
    web.put(f"/channel/{topic}/consumer/shop", json={"type": "pull"}).raise_for_status()
    with door.client(token="sell") as client:
        with pytest.raises(DaprGrpcError) as error:
            client.publish_event("pubsub", topic, "x")
        with pytest.raises(Exception, match="PERMISSION_DENIED"):
            client.subscribe("pubsub", topic)
    assert refusal(error) == (grpc.StatusCode.PERMISSION_DENIED, "DAPR_PUBSUB_FORBIDDEN")
    assert door.rows(STORED, topic) == [(0,)]


def test_who_is_refused_too_often_waits(engine: Engine, door: Door) -> None:
    # A Redis of its own: the others' refusals do not count here, nor these there.
    own = f"{engine.redis_url.partition('?')[0]}?db=62"
    paced = Door(engine, environment={"REFUSALS_PER_MINUTE": "2", "REDIS_URL": own})
    paced.health = door.health
    paced.start()
    codes = []
    try:
        with paced.client("till", token="guess") as client:
            for _ in range(4):
                with pytest.raises(DaprGrpcError) as error:
                    client.publish_event("pubsub", new_topic(), "x")
                codes.append(error.value.code())
        with paced.client("till") as client:
            client.publish_event("pubsub", new_topic(), "only who is refused pays")
    finally:
        paced.stop()
    assert codes == [grpc.StatusCode.UNAUTHENTICATED] * 2 + [grpc.StatusCode.RESOURCE_EXHAUSTED] * 2


def test_the_door_does_not_open_beside_a_gateway_that_signs(engine: Engine) -> None:
    argv = ("-m", "broker_project.grpc_server", "--port", str(free_port()))
    process = engine.broker.start(*argv, GATEWAY_SECRETS="one")
    assert process.wait(START_SECONDS) == 1
    assert "GATEWAY_SECRETS is set" in engine.broker.logs()


def test_an_app_id_that_is_none_is_refused(door: Door) -> None:
    with door.client("a b") as client, pytest.raises(DaprGrpcError) as error:
        client.publish_event("pubsub", new_topic(), "x")
    assert refusal(error) == (grpc.StatusCode.INVALID_ARGUMENT, "DAPR_APP_ID_INVALID")


def test_a_call_that_is_not_answered_here_is_unimplemented(door: Door) -> None:
    with door.client("till") as client, pytest.raises(DaprGrpcError) as error:
        client.get_state("store", "key")
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_tokens_and_payloads_are_in_no_log(door: Door) -> None:
    with door.client("till") as client:
        client.publish_event("pubsub", new_topic(), json.dumps({"secret": "very-private-payload"}))
    with door.client("till", token="very-private-token") as client, pytest.raises(DaprGrpcError):
        client.publish_event("pubsub", new_topic(), "x")
    logs = door.engine.broker.logs()
    assert door.key not in logs
    assert "very-private" not in logs
    assert "unauthenticated" in logs
