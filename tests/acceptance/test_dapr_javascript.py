"""The real @dapr/dapr client from npm, over HTTP, against a running engine: unchanged, it publishes here."""

import json
import os
import subprocess
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.dapr import load_components
from tests.acceptance.engine import Engine
from tests.acceptance.npm import NODE, NPM, node_modules
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until

CLIENT = "@dapr/dapr@3.18.0"
SCRIPT = Path(__file__).with_name("dapr_client.cjs")

pytestmark = pytest.mark.skipif(not (NPM and NODE), reason="no npm found: install Node.js to run Dapr's own client")


@pytest.fixture(scope="module")
def modules() -> Path:
    return node_modules(CLIENT)


@pytest.fixture(scope="module")
def told(engine: Engine, modules: Path) -> Any:
    """What the client says after it has published everything; the consumer has had its time."""
    load_components(engine.broker)
    topic = uuid.uuid4().hex[:12]
    with receiving() as receiver:
        engine.web.put(f"/channel/{topic}", json={"answers": "dapr"}).raise_for_status()
        hook = {"callbackUrl": f"{receiver.url}/hook"}
        engine.web.put(f"/channel/{topic}/consumer/k", json=hook).raise_for_status()
        key = engine.web.headers["Authorization"].removeprefix("Bearer ")
        words = [str(NODE), str(SCRIPT), str(engine.web.base_url.port), key, topic]
        environment = {**os.environ, "NODE_PATH": str(modules)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout.strip().splitlines()[-1])
        wait_until(lambda: len(receiver.deliveries) >= 9, 60)
        yield {**answers, "receiver": receiver}


def data(receiver: Receiver) -> dict[str, float]:
    """When each CloudEvent's data came."""
    found = {}
    for delivery in receiver.deliveries:
        document = json.loads(delivery.body)
        value = document.get("data", document)
        found[value["what"] if isinstance(value, dict) else value] = delivery.at
    return found


def test_the_client_is_told_that_all_is_stored(told: Any) -> None:
    assert {told[name] for name in ("now", "text", "event", "raw", "delayed")} == {"stored"}
    assert told["bulk"] == told["bulkDelayed"] == {"failedMessages": []}


def test_everything_arrives(told: Any) -> None:
    now = {"now", "a text", "hi", "raw", "bulk 1", "bulk 2", "bulk 3"}
    assert data(told["receiver"]).keys() == now | {"delayed", "bulk delayed"}


def test_what_is_delayed_arrives_at_its_time_and_not_before(told: Any) -> None:
    due = datetime.fromisoformat(told["dueAt"]).timestamp()
    arrived = data(told["receiver"])
    assert arrived["delayed"] >= due
    assert arrived["bulk delayed"] >= due


def test_a_cloud_event_of_ones_own_keeps_its_attributes(told: Any) -> None:
    [event] = [one for one in map(json.loads, bodies(told)) if one.get("id") == "mine"]
    assert (event["source"], event["type"], event["data"]) == ("/me", "own", "hi")
    assert (event["pubsubname"], "topic" in event) == ("later", True)


def test_a_raw_payload_is_left_alone(told: Any) -> None:
    assert b'{"what":"raw"}' in bodies(told)


def test_refusals_are_daprs(told: Any) -> None:
    for name, status, code in (
        ("refused", 400, "ERR_PUBSUB_REQUEST_METADATA"),
        ("unknown", 404, "ERR_PUBSUB_NOT_FOUND"),
    ):
        error = json.loads(told[name])
        assert (error["status"], json.loads(error["error_msg"])["errorCode"]) == (status, code)


def test_health_and_metadata_are_understood(told: Any) -> None:
    assert told["healthy"] is True
    assert {one["name"] for one in told["metadata"]["components"]} >= {"events", "later"}


def bodies(told: Any) -> list[bytes]:
    return [delivery.body for delivery in told["receiver"].deliveries]
