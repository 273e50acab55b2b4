"""Dapr's door over a socket: delayed messages, and many in one request. No engine runs."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.acceptance.dapr_web import Door, new_topic, opened, refused
from tests.acceptance.servers import Broker


@pytest.fixture(scope="module")
def door(broker: Broker) -> Door:
    return opened(broker)


@pytest.fixture
def topic() -> str:
    return new_topic()


def test_a_delay_is_refused_where_the_component_has_it_off(door: Door, topic: str) -> None:
    for name in ("scheduledSendTime", "deliverAt", "deliverAfter", "ScheduledEnqueueTimeUtc", "SCHEDULEDSENDTIME"):
        answer = door.publish(topic, query=f"?metadata.{name}=30s")
        refused(answer, 400, "ERR_PUBSUB_REQUEST_METADATA", "DAPR_PUBSUB_DELAYED_MESSAGING_DISABLED")
    answer = door.bulk(topic, [{"entryId": "1", "event": "x"}], query="?metadata.deliverAfter=30s")
    refused(answer, 400, "ERR_PUBSUB_REQUEST_METADATA", "DAPR_PUBSUB_DELAYED_MESSAGING_DISABLED")
    assert door.web.get(f"/channel/{topic}").status_code == 404


def test_a_delayed_message_waits_with_what_was_said_of_it(door: Door, topic: str) -> None:
    query = "?metadata.scheduledSendTime=2040-01-01T05:00:00+05:00&metadata.ttlInSeconds=60&metadata.note=mine"
    answer = door.publish(topic, pubsub="delayed", query=query, dapr_app_id="till", dapr_namespace="north")
    assert answer.status_code == 204
    [row] = door.scheduled(topic)
    assert row["scheduled_for"] == datetime(2040, 1, 1, tzinfo=UTC)
    assert row["ttl_seconds"] == 60
    assert row["dapr"] == {
        "listing": "tillnorth-delayed",
        "appId": "till",
        "namespace": "north",
        "pubsub": "delayed",
        "topic": topic,
        "contentType": "application/json",
        "metadata": {"scheduledSendTime": "2040-01-01T05:00:00 05:00", "ttlInSeconds": "60", "note": "mine"},
        "bulk": False,
    }
    assert door.messages(topic) == []


def test_a_delay_needs_no_two_minutes_nor_the_channels_leave(door: Door, topic: str) -> None:
    door.web.put(f"/channel/{topic}", json={"delayedMessaging": False})
    before = datetime.now(UTC)
    assert door.publish(topic, pubsub="delayed", query="?metadata.deliverAfter=PT30S").status_code == 204
    [row] = door.scheduled(topic)
    assert before + timedelta(seconds=30) <= row["due_at"] <= datetime.now(UTC) + timedelta(seconds=30)


def test_a_time_that_is_past_goes_at_once(door: Door, topic: str) -> None:
    query = "?metadata.scheduledSendTime=2001-01-01T00:00:00"
    assert door.publish(topic, pubsub="delayed", query=query).status_code == 204
    assert len(door.messages(topic)) == 1
    assert door.scheduled(topic) == []


@pytest.mark.parametrize("version", ["v1.0", "v1.0-alpha1"])
def test_bulk_stores_each_event_as_it_came(door: Door, topic: str, version: str) -> None:
    body = b"""[
        {"entryId": "1", "event": "a text", "contentType": "text/plain"},
        {"entryId": "2", "event": { "price" : 1.00 }, "contentType": "application/json"},
        {"entryId": "3", "event": "AAECAw==", "contentType": "application/octet-stream", "metadata": {}},
        {"entryId": "4", "event": {"id": "own",  "data": 7.0 }, "contentType": "application/cloudevents+json"},
        {"entryId": "5", "event": {"raw":  true}, "contentType": "application/json", "metadata": {"rawPayload": true}}
    ]"""
    answer = door.bulk(topic, body, version=version)
    assert (answer.status_code, answer.content) == (204, b"")
    text, number, octets, own, raw = (message["payload"] for message in door.messages(topic))
    assert json.loads(text)["data"] == "a text"
    assert number.endswith(b'"data":{ "price" : 1.00 }}')
    assert json.loads(octets)["data_base64"] == "AAECAw=="
    assert own.startswith(b'{"id": "own",  "data": 7.0')
    assert raw == b'{"raw":  true}'


def test_bulk_names_the_bad_entries_and_stores_the_others(door: Door, topic: str) -> None:
    entries: list[dict[str, Any]] = [
        {"entryId": "good", "event": "x"},
        {"entryId": "late", "event": "x", "metadata": {"scheduledSendTime": "30s"}},
        {"entryId": "not base64", "event": "?", "contentType": "application/octet-stream"},
        {"entryId": "no event"},
        {"entryId": "no text", "event": 7, "contentType": "text/plain"},
        {"entryId": "surrogate", "event": "\ud800", "contentType": "text/plain"},
        {"entryId": "metadata", "event": "x", "metadata": ["ttlInSeconds"]},
        {"entryId": "nul", "event": "x", "metadata": {"note": "\x00"}},
        {"entryId": "type", "event": "x", "contentType": 7},
        {"entryId": "long type", "event": "x", "contentType": "x" * 300},
        {"entryId": "header", "event": "x", "contentType": "text/plain\r\nX: y"},
        {"entryId": "no cloud event", "event": [], "contentType": "application/cloudevents+json"},
        {"entryId": "large", "event": "x" * (1024 * 1024 + 1)},
        {"entryId": "also good", "event": {"n": 1}},
    ]
    answer = door.bulk(topic, entries)
    assert answer.status_code == 500
    body = answer.json()
    assert body["errorCode"] == "ERR_PUBSUB_PUBLISH_MESSAGE"
    assert [entry["entryId"] for entry in body["failedEntries"]] == [entry["entryId"] for entry in entries[1:-1]]
    assert all(entry["error"] for entry in body["failedEntries"])
    assert [json.loads(message["payload"])["data"] for message in door.messages(topic)] == ["x", {"n": 1}]


def test_the_requests_metadata_is_the_default_of_each_entry(door: Door, topic: str) -> None:
    entries = [
        {"entryId": "1", "event": "x"},
        {"entryId": "2", "event": "x", "metadata": {"deliverAt": "2041-01-01T00:00:00Z"}},
        {"entryId": "3", "event": "x", "metadata": {"scheduledSendTime": "2001-01-01T00:00:00Z", "priority": "9"}},
    ]
    query = "?metadata.scheduledSendTime=2040-01-01T00:00:00Z&metadata.ttlInSeconds=60&metadata.priority=3"
    assert door.bulk(topic, entries, pubsub="delayed", query=query).status_code == 204
    assert [row["scheduled_for"].year for row in door.scheduled(topic)] == [2040, 2041]
    assert [row["ttl_seconds"] for row in door.scheduled(topic)] == [60, 60]
    assert all(row["dapr"]["bulk"] for row in door.scheduled(topic))
    [now] = door.messages(topic)
    assert (now["priority"], now["ttl_seconds"]) == (9, 60)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"{}",
        b"[1]",
        b"[{}]",
        b'[{"event": "x"}]',
        b'[{"entryId": "", "event": "x"}]',
        b'[{"entryId": 1, "event": "x"}]',
        b'[{"entryId": "1", "event": "x"}, {"entryId": "1", "event": "y"}]',
        b'[{"entryId": "1", "event": "x"},]',
        b'[{"entryId": "1", "event": "x"}] more',
        b'[{"entryId": "1", "event": "x"}',
        b'[{"entryId": "1", "entryId": "2"}]',
        b'[{"entryId": "1", "event": NaN}]',
        b"\xff\xfe",
        b'[{"entryId": "1", "event": ' + b"[" * 100_000,
    ],
)
def test_a_bulk_request_that_cannot_be_read(door: Door, topic: str, body: bytes) -> None:
    refused(door.bulk(topic, body), 400, "ERR_PUBSUB_EVENTS_SER", "DAPR_PUBSUB_UNMARSHAL_EVENTS")
    assert door.web.get(f"/channel/{topic}").status_code == 404


def test_more_entries_than_a_batch_may_have(door: Door, topic: str) -> None:
    entries = [{"entryId": str(number), "event": "x"} for number in range(10_001)]
    refused(door.bulk(topic, entries), 413, "ERR_PUBSUB_PUBLISH_MESSAGE", "DAPR_PUBSUB_PUBLISH_MESSAGE")
    assert door.bulk(topic, []).status_code == 204
    assert door.messages(topic) == []
