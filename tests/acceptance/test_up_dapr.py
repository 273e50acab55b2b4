"""./broker up, and Dapr's own Python SDK against the ports that it opened."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from dapr.clients import BulkPublishEntry, DaprClient
from dapr.clients.grpc._jobs import Job
from dapr.clients.grpc.interceptors import DaprClientInterceptor
from dapr.conf import settings
from google.protobuf.any_pb2 import Any as GrpcAny

from tests.acceptance.dapr import THREE_COMPONENTS
from tests.acceptance.running import SECONDS, Installation, installation
from tests.acceptance.servers import wait_until


@pytest.fixture(scope="module")
def running() -> Iterator[Installation]:
    with installation() as broker:
        broker.up()
        components = broker.data_dir / "components.yaml"
        components.write_text(THREE_COMPONENTS)
        broker.do("manage", "load_components", str(components))
        yield broker


@pytest.fixture(scope="module")
def key(running: Installation) -> str:
    return running.do("key").split()[-1]


@contextmanager
def sdk(running: Installation, key: str) -> Iterator[DaprClient]:
    """As its variables would tell it."""
    told: Any = settings
    told.DAPR_API_TOKEN = key
    told.DAPR_HTTP_ENDPOINT = f"http://127.0.0.1:{running.port}"
    with DaprClient(
        f"127.0.0.1:{running.port + 3}", interceptors=[DaprClientInterceptor([("dapr-app-id", "shop")])]
    ) as client:
        yield client


def listen(running: Installation, key: str, channel: str) -> None:
    """The echo receiver hears of what comes to this channel."""
    web = httpx.Client(base_url=f"http://127.0.0.1:{running.port}", headers={"Authorization": f"Bearer {key}"})
    web.put(f"/channel/{channel}", json={"answers": "dapr"}).raise_for_status()
    callback = {"callbackUrl": f"http://127.0.0.1:{running.port + 2}/{channel}"}
    web.put(f"/channel/{channel}/consumer/echo", json=callback).raise_for_status()


def heard(running: Installation) -> list[str]:
    return [delivery["body"] for delivery in httpx.get(f"http://127.0.0.1:{running.port + 2}/").json()]


def data_heard(running: Installation) -> list[Any]:
    """Of the events among them."""
    return [json.loads(body)["data"] for body in heard(running) if '"specversion"' in body]


def test_an_event_is_published_and_delivered(running: Installation, key: str) -> None:
    listen(running, key, "orders")
    with sdk(running, key) as client:
        client.publish_event("pubsub", "orders", '{"n": 1}', data_content_type="application/json")
    wait_until(lambda: data_heard(running) == [{"n": 1}], SECONDS)


def test_many_are_published_at_once_and_delivered(running: Installation, key: str) -> None:
    listen(running, key, "parcels")
    entries = [BulkPublishEntry(event=f"parcel {n}", entry_id=str(n)) for n in range(10)]
    with sdk(running, key) as client:
        answer = client.publish_events("pubsub", "parcels", entries, data_content_type="text/plain")
    assert not answer.failed_entries
    wait_until(lambda: {entry.event for entry in entries} <= {str(data) for data in data_heard(running)}, SECONDS)


def in_seconds(seconds: int) -> datetime:
    """Whole seconds, as the receiver does not tell microseconds."""
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds + 1)


def times_heard(running: Installation, channel: str) -> list[datetime]:
    found = httpx.get(f"http://127.0.0.1:{running.port + 2}/").json()
    return [datetime.fromisoformat(delivery["received_at"]) for delivery in found if delivery["channel"] == channel]


def test_an_event_for_later_is_delivered_when_it_is_due(running: Installation, key: str) -> None:
    listen(running, key, "invoices")
    due = in_seconds(3)
    with sdk(running, key) as client:
        client.publish_event("delayed", "invoices", "an invoice", {"scheduledSendTime": due.isoformat()})
    wait_until(lambda: "an invoice" in data_heard(running), SECONDS)
    assert [at >= due for at in times_heard(running, "invoices")] == [True]


def test_many_for_later_are_delivered_when_they_are_due(running: Installation, key: str) -> None:
    listen(running, key, "reminders")
    due = in_seconds(3)
    texts = [f"reminder {n}" for n in range(10)]
    with sdk(running, key) as client:
        asked = {"scheduledSendTime": due.isoformat()}
        answer = client.publish_events("delayed", "reminders", texts, asked, data_content_type="text/plain")
    assert not answer.failed_entries
    wait_until(lambda: set(texts) <= {str(data) for data in data_heard(running)}, SECONDS)
    assert [at >= due for at in times_heard(running, "reminders")] == [True] * 10


def test_a_job_is_scheduled_and_runs(running: Installation, key: str) -> None:
    listen(running, key, "shop-jobs")
    with sdk(running, key) as client:
        client.schedule_job(Job("backup", due_time="1s", data=GrpcAny(value=b"my-prod-db")))
    wait_until(lambda: "my-prod-db" in heard(running), SECONDS)
