"""Dapr's door with a running engine: what goes in comes out, now and later; and what consumers answer."""

import base64
import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

PATIENCE_SECONDS = 60.0
COMPONENT = """
kind: Component
metadata: {name: delayed}
spec:
  type: pubsub.broker
  version: v1
  metadata: [{name: enableDelayedMessaging, value: "true"}]
"""
OWN_EVENT = b'{ "id": "own-1",\t"source":"me", "type": "t", "data": {"price": 1.00, "many": [1, 2 ] } }\n'
RAW_JSON = b' {"raw":  [1.0, 1e3, "\\u00fc", "\xc3\xbc"]} \n'
EVENT_TYPE = "application/cloudevents+json"


@dataclass
class Dapr:
    engine: Engine
    headers: dict[str, str]

    def publish(self, topic: str, body: bytes, content_type: str, **metadata: str) -> None:
        answer = self.engine.web.post(
            f"/v1.0/publish/delayed/{topic}",
            content=body,
            params={f"metadata.{name}": value for name, value in metadata.items()},
            headers={**self.headers, "Content-Type": content_type},
        )
        assert answer.status_code == 204, answer.text

    def subscribe(self, topic: str, url: str, **fields: Any) -> None:
        """Topics are channels: the first publish makes one, or who comes before it."""
        self.engine.web.put(f"/channel/{topic}", json={"answers": "dapr"})
        body = {"callbackUrl": url, "token": "mine", **fields}
        assert self.engine.web.put(f"/channel/{topic}/consumer/k", json=body).status_code == 201

    def jobs(self, topic: str) -> list[dict[str, Any]]:
        """The one message's jobs, as the API shows them; none before it is there."""
        messages = self.engine.web.get(f"/channel/{topic}/messages").json()["result"]
        return list(self.engine.web.get(messages[0]).json()["jobs"]) if messages else []


@pytest.fixture(scope="module")
def dapr(engine: Engine) -> Dapr:
    file = engine.broker.data_dir / "component.yaml"
    file.write_text(COMPONENT)
    engine.broker.manage("load_components", str(file))
    key = engine.web.headers["Authorization"].removeprefix("Bearer ")
    return Dapr(engine, {"dapr-api-token": key, "dapr-app-id": "till"})


@pytest.fixture
def topic() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def got(receiver: Receiver) -> tuple[bytes, str]:
    wait_until(lambda: bool(receiver.deliveries), PATIENCE_SECONDS)
    [delivery] = receiver.deliveries
    return delivery.body, delivery.headers["content-type"]


@pytest.fixture(params=["now", "later"])
def moment(request: pytest.FixtureRequest) -> dict[str, str]:
    """The metadata of a message for now, and of one for later."""
    return {} if request.param == "now" else {"scheduledSendTime": "PT1.5S"}


def test_an_own_event_keeps_every_byte(dapr: Dapr, receiver: Receiver, topic: str, moment: dict[str, str]) -> None:
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, OWN_EVENT, EVENT_TYPE, **moment)
    body, kind = got(receiver)
    assert kind == EVENT_TYPE
    end = OWN_EVENT.rindex(b"}")
    assert body.startswith(OWN_EVENT[:end])
    assert body.endswith(OWN_EVENT[end:])
    added = json.loads(b"{" + body[end + 1 : -len(OWN_EVENT[end:])] + b"}")
    assert added.keys() == {"specversion", "time", "topic", "pubsubname", "traceid", "traceparent"}
    assert (added["topic"], added["pubsubname"]) == (topic, "delayed")


def test_a_made_event_has_the_very_data(dapr: Dapr, receiver: Receiver, topic: str, moment: dict[str, str]) -> None:
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, RAW_JSON, "application/json", **moment)
    body, kind = got(receiver)
    assert kind == EVENT_TYPE
    assert body.endswith(b'"data":' + RAW_JSON + b"}")
    assert json.loads(body)["source"] == "till"


def test_raw_json_is_left_alone(dapr: Dapr, receiver: Receiver, topic: str, moment: dict[str, str]) -> None:
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, RAW_JSON, "application/json; charset=utf-8", rawPayload="true", **moment)
    assert got(receiver) == (RAW_JSON, "application/json; charset=utf-8")


def test_a_mebibyte_of_chance(dapr: Dapr, receiver: Receiver, topic: str, moment: dict[str, str]) -> None:
    sent = os.urandom(1024 * 1024)
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, sent, "application/octet-stream", **moment)
    event = json.loads(got(receiver)[0])
    assert base64.b64decode(event["data_base64"]) == sent
    assert event["datacontenttype"] == "application/octet-stream"


def test_a_raw_mebibyte_of_chance(dapr: Dapr, receiver: Receiver, topic: str, moment: dict[str, str]) -> None:
    sent = os.urandom(1024 * 1024)
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, sent, "application/octet-stream", rawPayload="true", **moment)
    assert got(receiver) == (sent, "application/octet-stream")


def test_a_delayed_message_is_not_early(dapr: Dapr, receiver: Receiver, topic: str) -> None:
    due = datetime.now(UTC) + timedelta(seconds=2)
    dapr.subscribe(topic, receiver.url)
    dapr.publish(topic, b"x", "text/plain", scheduledSendTime=due.isoformat())
    got(receiver)
    assert receiver.deliveries[0].at >= due.timestamp()


def test_a_bulk_of_mixed_times_arrives(dapr: Dapr, receiver: Receiver, topic: str) -> None:
    dapr.subscribe(topic, receiver.url)
    entries = [{"entryId": str(n), "event": {"n": n}, "metadata": {"deliverAfter": f"{n}s"}} for n in range(3)]
    answer = dapr.engine.web.post(
        f"/v1.0/publish/bulk/delayed/{topic}",
        json=entries,
        headers={**dapr.headers, "Content-Type": "application/json"},
    )
    assert answer.status_code == 204, answer.text
    wait_until(lambda: len(receiver.deliveries) == 3, PATIENCE_SECONDS)
    assert [json.loads(delivery.body)["data"]["n"] for delivery in receiver.deliveries] == [0, 1, 2]


@dataclass
class Speaker:
    """A consumer that says Dapr's words, one after the other; the last one stays."""

    words: list[bytes]
    status: int = 200
    url: str = ""
    heard: list[bytes] = field(default_factory=list)


@contextmanager
def speaking(*words: bytes, status: int = 200) -> Iterator[Speaker]:
    speaker = Speaker(list(words), status)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            speaker.heard.append(self.rfile.read(int(self.headers["Content-Length"])))
            word = speaker.words.pop(0) if len(speaker.words) > 1 else speaker.words[0]
            self.send_response(speaker.status)
            self.send_header("Content-Length", str(len(word)))
            self.end_headers()
            self.wfile.write(word)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    speaker.url = f"http://127.0.0.1:{server.server_port}/"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield speaker
    finally:
        server.shutdown()
        server.server_close()


def ended(dapr: Dapr, topic: str) -> dict[str, Any]:
    wait_until(lambda: [job["status"] for job in dapr.jobs(topic)] in (["DELIVERED"], ["DEAD"]), PATIENCE_SECONDS)
    [job] = dapr.jobs(topic)
    return job


def test_a_consumer_that_says_retry_gets_it_again(dapr: Dapr, topic: str) -> None:
    with speaking(b'{"status": "RETRY"}', b'{"status": "SUCCESS"}') as speaker:
        dapr.subscribe(topic, speaker.url)
        dapr.publish(topic, b"x", "text/plain")
        assert ended(dapr, topic)["status"] == "DELIVERED"
    assert len(speaker.heard) == 2
    assert speaker.heard[0] == speaker.heard[1]


def test_a_consumer_that_says_drop_never_gets_it_again(dapr: Dapr, topic: str) -> None:
    with speaking(b'{"status": "DROP"}') as speaker:
        dapr.subscribe(topic, speaker.url)
        dapr.publish(topic, b"x", "text/plain")
        job = ended(dapr, topic)
    assert (job["status"], len(speaker.heard)) == ("DEAD", 1)
    assert dead_reason(dapr.engine.web, topic) == "nacked"


def test_a_404_drops(dapr: Dapr, topic: str) -> None:
    with speaking(b"", status=404) as speaker:
        dapr.subscribe(topic, speaker.url)
        dapr.publish(topic, b"x", "text/plain")
        assert ended(dapr, topic)["status"] == "DEAD"
    assert len(speaker.heard) == 1
    assert dead_reason(dapr.engine.web, topic) == "http_4xx"


def test_a_message_past_its_ttl_is_dead_and_not_delivered(dapr: Dapr, receiver: Receiver, topic: str) -> None:
    """While its consumer is paused nothing is sent; then it is too late."""
    dapr.subscribe(topic, receiver.url)
    dapr.engine.web.post(f"/channel/{topic}/consumer/k/pause")
    dapr.publish(topic, b"x", "text/plain", ttlInSeconds="1")
    assert ended(dapr, topic)["status"] == "DEAD"
    dapr.engine.web.post(f"/channel/{topic}/consumer/k/resume")
    assert dead_reason(dapr.engine.web, topic) == "expired"
    assert receiver.deliveries == []


def dead_reason(web: httpx.Client, topic: str) -> str:
    [letter] = web.get(f"/channel/{topic}/consumer/k/dlq").json()["deadJobs"]
    return str(letter["failureReason"])
