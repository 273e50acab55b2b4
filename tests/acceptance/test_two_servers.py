"""Two servers on one database: what one makes, the other finds at once, though it has just said that there is none."""

import uuid
from typing import Any

import httpx
import pytest

from tests.acceptance.dapr import App, refused
from tests.acceptance.servers import Broker

Pair = tuple[httpx.Client, httpx.Client]
STRICT = """
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: strict}
spec:
  type: pubsub.redis
  version: v1
  metadata: [{name: createTopics, value: "false"}]
"""


@pytest.fixture(scope="module")
def pair(broker: Broker) -> Pair:
    """Neither looks for news by itself for longer than a test takes."""
    patient = {"REGISTRY_MAX_AGE_SECONDS": "3600", "MANAGEMENT_RATE_PER_SECOND": "0"}
    return broker.serve(**patient), broker.serve(**patient)


def load(broker: Broker, components: str) -> None:
    file = broker.data_dir / "components.yaml"
    file.write_text(components)
    broker.manage("load_components", str(file))


def test_a_channel_that_was_deleted_and_made_again_gets_what_is_published_then(pair: Pair) -> None:
    web = pair[0]
    web.put("/producer/till", json={"token": "sell"})
    known = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "till", "X-Broker-Producer-Token": "sell"}
    for _ in range(3):
        made = web.put("/channel/again", json={"token": "open"})
        assert made.status_code == 201
        published = web.post("/channel/again/broadcast", content=b"x", headers=known)
        assert published.status_code == 201, published.text
        assert web.get(published.headers["Location"]).status_code == 200
        assert web.delete("/channel/again", headers={"If-Match": made.headers["ETag"]}).status_code == 204
        assert web.post("/channel/again/broadcast", content=b"x", headers=known).status_code == 404


def test_a_job_that_was_scheduled_by_the_other(pair: Pair) -> None:
    here, there = (App(web, "twin") for web in pair)
    refused(there.get("backup"), 404, "DAPR_SCHEDULER_GET_JOB")
    assert here.schedule("backup", dueTime="1h").status_code == 204
    assert there.get("backup").status_code == 200


def test_a_job_that_was_scheduled_by_the_other_is_deleted(pair: Pair) -> None:
    here, there = (App(web, "brother") for web in pair)
    refused(there.delete("backup"), 404, "DAPR_SCHEDULER_DELETE_JOB")
    assert here.schedule("backup", dueTime="1h").status_code == 204
    assert there.delete("backup").status_code == 204
    refused(here.get("backup"), 404, "DAPR_SCHEDULER_GET_JOB")


def ask(web: httpx.Client, call: str, queue: str, **fields: Any) -> httpx.Response:
    return web.post(f"/v1/{call}", json={"queue_name": queue, **fields})


def lease(web: httpx.Client, queue: str) -> httpx.Response:
    return ask(web, "queue.lease", queue, client_id="worker", batch_size=1, request_timeout="5s")


def produce(web: httpx.Client, queue: str) -> httpx.Response:
    return ask(web, "queue.produce", queue, request_timeout="5s", items=[{"utf8": "x"}])


@pytest.mark.parametrize("call", ["produce", "lease", "complete", "retry"])
def test_a_queue_that_was_made_by_the_other(pair: Pair, call: str) -> None:
    (here, there), queue, item = pair, f"queue-{uuid.uuid4().hex[:12]}", "none"
    calls = {
        "produce": lambda: produce(there, queue),
        "lease": lambda: lease(there, queue),
        "complete": lambda: ask(there, "queue.complete", queue, request_timeout="5s", ids=[item]),
        "retry": lambda: ask(there, "queue.retry", queue, items=[{"id": item}]),
    }
    assert calls[call]().status_code == 404
    times = {"lease_timeout": "1m", "expire_timeout": "24h", "requested_partitions": 1}
    assert ask(here, "queues.create", queue, **times).status_code == 200
    assert produce(here, queue).status_code == 200
    if call in ("complete", "retry"):
        item = lease(here, queue).json()["items"][0]["id"]

    answer = calls[call]()

    assert answer.status_code == 200, answer.text


def test_a_producer_that_was_made_by_the_other(pair: Pair) -> None:
    here, there = pair
    # By an API key it may be asked for before it is there.
    refused(App(there, "late").get("x"), 404, "DAPR_SCHEDULER_GET_JOB")
    here.put("/producer/late", json={"token": "a-late-token"})
    assert App(there, "", token="a-late-token").schedule("x", dueTime="1h").status_code == 204


def test_a_component_and_a_topic_that_were_made_elsewhere(pair: Pair, broker: Broker) -> None:
    here, there = pair
    app = App(there, "shop")
    assert app.call("POST", "/v1.0/publish/strict/made-late", json={}).status_code == 404
    load(broker, STRICT)
    assert app.call("POST", "/v1.0/publish/strict/made-late", json={}).status_code == 403
    here.put("/channel/made-late", json={})
    assert app.call("POST", "/v1.0/publish/strict/made-late", json={}).status_code == 204
