"""Dapr's door over a socket: what is stored, what is refused, and how that is told. No engine runs."""

import base64
import json
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from urllib.parse import urlsplit

import pytest

from tests.acceptance.dapr_web import BAD_METADATA, JSON, Door, new_topic, opened, refused
from tests.acceptance.servers import Broker, wait_until

EVENT = b'{"id": "mine",  "data":{"n": 1.00} }'


@pytest.fixture(scope="module")
def door(broker: Broker) -> Door:
    return opened(broker)


@pytest.fixture
def topic() -> str:
    return new_topic()


def test_plain_data_becomes_an_event_around_the_very_text(door: Door, topic: str) -> None:
    sent = b' {"price": 1.00, "big": 12345678901234567890.5} '
    answer = door.publish(topic, sent, dapr_app_id="checkout")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-length" not in answer.headers
    [message] = door.messages(topic)
    assert message["content_type"] == "application/cloudevents+json"
    assert message["payload"].endswith(b'"data":' + sent + b"}")
    assert message["producer"] == "checkout"
    event = json.loads(message["payload"])
    assert event["specversion"] == "1.0"
    assert event["type"] == "com.dapr.event.sent"
    assert (event["source"], event["topic"], event["pubsubname"]) == ("checkout", topic, "pubsub")
    assert event["datacontenttype"] == "application/json"
    assert uuid.UUID(event["id"]).version == 4
    assert datetime.fromisoformat(event["time"]).tzinfo is not None
    assert event["traceid"] == event["traceparent"]


def test_put_is_taken_too(door: Door, topic: str) -> None:
    assert door.web.put(f"/v1.0/publish/pubsub/{topic}", content=b"{}", headers=JSON).status_code == 204
    assert len(door.messages(topic)) == 1


def test_a_trace_goes_on_and_metadata_sets_attributes(door: Door, topic: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    query = "?metadata.cloudevent.type=order.placed&metadata.cloudevent.subject=seven&metadata.priority=7"
    assert door.publish(topic, b"hello", query=query, content_type="text/plain", traceparent=parent).status_code == 204
    event = door.stored(topic)
    assert (event["type"], event["subject"], event["data"]) == ("order.placed", "seven", "hello")
    assert event["traceparent"] == event["traceid"] == parent
    assert door.messages(topic)[0]["priority"] == 7


def test_bytes_travel_in_base64(door: Door, topic: str) -> None:
    sent = bytes(range(256))
    assert door.publish(topic, sent, content_type="application/octet-stream").status_code == 204
    event = door.stored(topic)
    assert base64.b64decode(event["data_base64"]) == sent
    assert "data" not in event


def test_an_event_of_the_producers_own_is_completed_and_else_untouched(door: Door, topic: str) -> None:
    assert door.publish(topic, EVENT, content_type="application/cloudevents+json").status_code == 204
    [message] = door.messages(topic)
    assert message["payload"].startswith(EVENT[:-1].rstrip())
    event = json.loads(message["payload"])
    assert (event["id"], event["topic"], event["pubsubname"]) == ("mine", topic, "pubsub")


def test_a_raw_payload_is_left_alone(door: Door, topic: str) -> None:
    sent = b'{ "as": "it is" }\n'
    assert door.publish(topic, sent, query="?metadata.rawPayload=true").status_code == 204
    [message] = door.messages(topic)
    assert (message["payload"], message["content_type"]) == (sent, "application/json")


def test_a_topic_may_have_slashes_and_any_letter(door: Door) -> None:
    name = uuid.uuid4().hex[:8]
    assert door.publish(f"shop/{name}/gr%C3%BC%C3%9Fe").status_code == 204
    assert door.stored(f"shop~2F{name}~2Fgr~C3~BC~C3~9Fe")["topic"] == f"shop/{name}/grüße"
    channel = door.web.get(f"/channel/shop~2F{name}~2Fgr~C3~BC~C3~9Fe").json()
    assert (channel["name"], channel["answers"]) == (f"shop/{name}/grüße", "dapr")


def test_a_channel_of_our_own_is_a_topic(door: Door, topic: str) -> None:
    door.web.put(f"/channel/{topic}", json={})
    assert door.publish(topic, pubsub="strict").status_code == 204
    assert door.web.get(f"/channel/{topic}").json()["answers"] == "http"


def test_who_has_no_token_or_a_wrong_one_is_refused(door: Door, topic: str) -> None:
    for token in ("", "wrong", "x" * 2000):
        answer = door.publish(topic, dapr_api_token=token)
        refused(answer, 401, "ERR_UNAUTHENTICATED", "DAPR_API_TOKEN_INVALID")
    assert door.messages(topic) == []


def test_a_producers_token_is_that_producer(door: Door, topic: str) -> None:
    assert door.publish(topic, dapr_api_token="a-producers-token").status_code == 204
    assert door.stored(topic)["source"] == "shop"
    assert [message["producer"] for message in door.messages(topic)] == ["shop"]


def test_a_producers_token_is_no_other_application(door: Door, topic: str) -> None:
    told = ("ERR_APP_ID_FORBIDDEN", "DAPR_APP_ID_FORBIDDEN")
    headers = {"dapr-api-token": "a-producers-token", "dapr-app-id": "spoofed"}
    refused(door.publish(topic, dapr_api_token="a-producers-token", dapr_app_id="spoofed"), 403, *told)
    refused(door.web.post("/v1.0/jobs/theirs", json={"dueTime": "1h"}, headers=headers), 403, *told)
    refused(door.web.get("/v1.0/jobs/theirs", headers=headers), 403, *told)
    assert door.messages(topic) == []
    assert door.web.get("/channel/spoofed-jobs").status_code == 404
    assert door.web.get("/producer/spoofed").status_code == 404


def test_a_producers_token_opens_no_channel_but_daprs(door: Door, topic: str) -> None:
    made = door.web.put(f"/channel/{topic}", json={})
    token, entries = "a-producers-token", [{"entryId": "1", "event": "x"}]
    # Once by the long way in, and once by the short one.
    for _ in range(2):
        refused(door.publish(topic, dapr_api_token=token), 403, "ERR_PUBSUB_FORBIDDEN", "DAPR_PUBSUB_FORBIDDEN")
    bulk = door.web.post(f"/v1.0/publish/bulk/pubsub/{topic}", json=entries, headers={"dapr-api-token": token})
    refused(bulk, 403, "ERR_PUBSUB_FORBIDDEN", "DAPR_PUBSUB_FORBIDDEN")
    assert door.messages(topic) == []
    door.web.put(f"/channel/{topic}", json={"answers": "dapr"}, headers={"If-Match": made.headers["ETag"]})
    wait_until(lambda: door.publish(topic, dapr_api_token=token).status_code == 204, 10)


def test_who_stores_nothing_becomes_no_producer(door: Door, topic: str) -> None:
    headers = {"dapr-app-id": f"app-{topic}"}
    assert door.web.get("/v1.0/metadata", headers=headers).status_code == 200
    assert door.web.get("/v1.0/jobs/none", headers=headers).status_code == 404
    assert door.publish(topic, query="?metadata.ttlInSeconds=soon", dapr_app_id=f"app-{topic}").status_code == 400
    assert door.web.get(f"/producer/app-{topic}").status_code == 404
    assert door.publish(topic, dapr_app_id=f"app-{topic}").status_code == 204
    assert [message["producer"] for message in door.messages(topic)] == [f"app-{topic}"]


def test_who_is_refused_too_often_waits(broker: Broker, door: Door, topic: str) -> None:
    web = broker.serve(REFUSALS_PER_MINUTE="3")
    path, right = f"/v1.0/publish/pubsub/{topic}", door.web.headers["dapr-api-token"]
    answers = [web.post(path, content=b"{}", headers={**JSON, "dapr-api-token": "guess"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert answers[-1].json()["errorCode"] == "ERR_PUBSUB_PUBLISH_MESSAGE"
    # Only who is refused pays.
    assert web.post(path, content=b"{}", headers={**JSON, "dapr-api-token": right}).status_code == 204


def test_a_changed_token_opens_and_the_old_one_does_not(door: Door, topic: str) -> None:
    made = door.web.put("/producer/changing", json={"token": "before"})
    assert door.publish(topic, dapr_api_token="before").status_code == 204
    door.web.put("/producer/changing", json={"token": "after"}, headers={"If-Match": made.headers["ETag"]})
    wait_until(lambda: door.publish(topic, dapr_api_token="before").status_code == 401, 10)
    assert door.publish(topic, dapr_api_token="after").status_code == 204


def test_without_a_name_an_api_key_is_the_application_dapr(door: Door, topic: str) -> None:
    assert door.publish(topic).status_code == 204
    assert door.stored(topic)["source"] == "dapr"


def test_an_app_id_that_cannot_be_one_is_refused(door: Door, topic: str) -> None:
    refused(door.publish(topic, dapr_app_id="no blanks"), 400, "ERR_APP_ID_INVALID", "DAPR_APP_ID_INVALID")


@pytest.mark.parametrize("pubsub", ["nobody", "%00", "x" * 300])
def test_an_unknown_pubsub(door: Door, topic: str, pubsub: str) -> None:
    refused(door.publish(topic, pubsub=pubsub), 404, "ERR_PUBSUB_NOT_FOUND", "DAPR_PUBSUB_NOT_FOUND")
    refused(door.bulk(topic, [], pubsub=pubsub), 404, "ERR_PUBSUB_NOT_FOUND", "DAPR_PUBSUB_NOT_FOUND")
    assert door.messages(topic) == []


@pytest.mark.parametrize("path", ["/v1.0/publish/pubsub", "/v1.0/publish/pubsub/", "/v1.0/publish/bulk/pubsub/"])
def test_an_empty_topic(door: Door, path: str) -> None:
    answer = door.web.post(path, content=b"[]", headers=JSON)
    refused(answer, 404, "ERR_TOPIC_NAME_EMPTY", "DAPR_PUBSUB_TOPIC_NAME_EMPTY")


@pytest.mark.parametrize("topic", ["x" * 256, "%C3%BC" * 43, "a%00b"])
def test_a_topic_that_no_channel_can_be_called(door: Door, topic: str) -> None:
    refused(door.publish(topic), 400, "ERR_TOPIC_NAME_INVALID", "DAPR_PUBSUB_TOPIC_NAME_INVALID")


def test_a_component_that_makes_no_topics(door: Door, topic: str) -> None:
    refused(door.publish(topic, pubsub="strict"), 403, "ERR_PUBSUB_FORBIDDEN", "DAPR_PUBSUB_FORBIDDEN")
    entries = [{"entryId": "1", "event": "x"}]
    refused(door.bulk(topic, entries, pubsub="strict"), 403, "ERR_PUBSUB_FORBIDDEN", "DAPR_PUBSUB_FORBIDDEN")
    assert door.web.get(f"/channel/{topic}").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "scheduledSendTime=tomorrow",
        "scheduledSendTime=",
        "scheduledSendTime=2026-13-01T00:00:00Z",
        "deliverAfter=P99999Y",
        "deliverAfter=999999999999999h",
        "deliverAt=2030-01-01T00:00:00Z&metadata.deliverAfter=30s",
        "ttlInSeconds=0",
        "ttlInSeconds=-1",
        "ttlInSeconds=soon",
        "rawPayload=maybe",
        "priority=high",
        "priority=99999999999",
        "cloudevent.data=x",
        "cloudevent.No-Name=x",
        "note=%00",
        "note=%FF",
    ],
)
def test_metadata_that_cannot_be_understood(door: Door, topic: str, query: str) -> None:
    refused(door.publish(topic, pubsub="delayed", query=f"?metadata.{query}"), 400, *BAD_METADATA)
    assert door.web.get(f"/channel/{topic}").status_code == 404


def test_a_body_that_calls_itself_an_event_and_is_none(door: Door, topic: str) -> None:
    for body in (b"not json", b"[]", b'"text"', b"\xff\xfe", b"[" * 100_000, b"", b'{"a": NaN}'):
        answer = door.publish(topic, body, content_type="application/cloudevents+json")
        refused(answer, 500, "ERR_PUBSUB_CLOUD_EVENTS_SER", "DAPR_PUBSUB_CLOUD_EVENT_CREATION")
    assert door.web.get(f"/channel/{topic}").status_code == 404


def test_a_body_too_large_is_told_in_the_same_shape(door: Door, topic: str) -> None:
    answer = door.publish(topic, b"x" * (1024 * 1024 + 1))
    refused(answer, 413, "ERR_PUBSUB_PUBLISH_MESSAGE", "DAPR_PUBSUB_PUBLISH_MESSAGE")


def test_another_method(door: Door, topic: str) -> None:
    answer = door.web.get(f"/v1.0/publish/pubsub/{topic}")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, PUT")
    assert answer.json()["errorCode"]


def test_a_limit_is_told_in_daprs_shape(door: Door, topic: str) -> None:
    door.web.put(f"/channel/{topic}", json={"rateLimit": {"perSecond": 0.001, "burst": 1}})
    assert door.publish(topic).status_code == 204
    answer = door.publish(topic)
    refused(answer, 429, "ERR_PUBSUB_PUBLISH_MESSAGE", "DAPR_PUBSUB_PUBLISH_MESSAGE")
    assert int(answer.headers["Retry-After"]) > 0
    assert len(door.messages(topic)) == 1


def test_the_short_way_answers_as_the_long_one_does(door: Door, topic: str) -> None:
    """In one packet it goes the short way, in two the long one."""
    token = door.web.headers["dapr-api-token"]
    body = b'{"short": true}'
    head = (
        f"POST /v1.0/publish/pubsub/{topic} HTTP/1.1\r\nHost: x\r\ndapr-api-token: {token}\r\nX-Request-ID: same\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with connected(door) as wire:
        answers = []
        for pieces in ([head, body], [head + body], [head, body], [head + body]):
            for piece in pieces:
                wire.sendall(piece)
            answers.append(read_head(wire))
    status, *_ = answers[0].partition(b"\r\n")
    assert status == b"HTTP/1.1 204 No Content"
    assert len({frozenset(answer.split(b"\r\n")[1:]) for answer in answers}) == 1
    assert [json.loads(message["payload"])["data"] for message in door.messages(topic)] == [{"short": True}] * 4


@contextmanager
def connected(door: Door) -> Iterator[socket.socket]:
    place = urlsplit(str(door.web.base_url))
    with socket.create_connection((str(place.hostname), place.port or 80), timeout=20) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield wire


def read_head(wire: socket.socket) -> bytes:
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += wire.recv(4096)
    return b"\r\n".join(line for line in answer.split(b"\r\n") if not line.lower().startswith(b"date"))


def test_an_open_door_asks_for_no_token(broker: Broker, door: Door, topic: str) -> None:
    web = broker.serve(OPEN_DOORS="dapr")
    answer = web.post(f"/v1.0/publish/pubsub/{topic}", content=b"{}", headers={**JSON, "dapr-app-id": "till"})
    assert answer.status_code == 204
    assert [message["producer"] for message in door.messages(topic)] == ["till"]
