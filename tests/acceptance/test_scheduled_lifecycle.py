"""Scheduled messages sent at once, and many of them changed together, with real workers."""

import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.acceptance.engine import CELERY, WORKER, Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

MANY = 100_000
_FILL = """
INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, headers, priority,
                               scheduled_for, due_at)
SELECT channel.id, producer.id, 'm' || n, 'x', '', '{}', 0, '2030-01-01Z', '2030-01-01Z'
FROM channel, producer, generate_series(1, %s) n WHERE channel.public_id = %s AND producer.public_id = 'shop'
"""
_TIMES = """
SELECT scheduled_for, due_at, count(*) FROM scheduled_message s JOIN channel ON channel.id = s.channel_id
WHERE channel.public_id = %s GROUP BY 1, 2
"""


def publish_for_later(channel: Channel, name: str) -> None:
    at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert channel.publish(Message_ID=name, Scheduled_For=at).status_code == 201


def test_what_is_sent_now_arrives_and_what_is_cancelled_does_not(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    for name in ("cancelled", "sent"):
        publish_for_later(channel, name)
    path = f"/channel/{channel.name}/scheduled-message"

    assert engine.web.delete(f"{path}/cancelled").status_code == 204
    assert engine.web.post(f"{path}/sent/dispatch-now").status_code == 202

    wait_until(lambda: bool(receiver.of("sent")), 15)
    wait_until(lambda: engine.web.get(f"{path}/sent").json()["status"] == "DISPATCHED", 15)
    assert engine.web.post(f"{path}/cancelled/dispatch-now").json()["code"] == "already_cancelled"
    assert engine.web.delete(f"{path}/sent").json()["code"] == "already_dispatched"
    assert len(receiver.of("sent")) == 1
    assert not receiver.of("cancelled")


def test_a_deleted_channels_messages_are_cancelled(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    publish_for_later(channel, "m")
    path = f"/channel/{channel.name}"

    assert engine.web.delete(path, headers={"If-Match": engine.web.get(path).headers["ETag"]}).status_code == 204

    wait_until(lambda: engine.web.get(f"{path}/scheduled-message/m").json()["status"] == "CANCELLED", 30)


@pytest.fixture
def filled(engine: Engine, receiver: Receiver) -> Channel:
    channel = engine.channel(receiver)
    with psycopg.connect(engine.broker.database_url) as database:
        database.execute(_FILL, [MANY, channel.name])
    return channel


def test_an_operation_outlives_the_worker_and_changes_each_row_once(engine: Engine, filled: Channel) -> None:
    body = {"all": True, "shiftSeconds": 3600}
    begun = engine.web.post(f"/channel/{filled.name}/scheduled-messages/reschedule", json=body)
    assert begun.status_code == 202, begun.text

    def operation() -> Any:
        return engine.web.get(begun.headers["Location"]).json()

    wait_until(lambda: operation()["done"] > 0, 30)
    worker = next(one for one in engine.broker.processes if "dispatch" in one.args)  # type: ignore[operator]
    worker.send_signal(signal.SIGKILL)
    worker.wait(timeout=30)
    cut_off = operation()
    engine.broker.start(*CELERY, *WORKER, "-c", "4", "-Q", "dispatch", "-n", "dispatch@%h")

    wait_until(lambda: operation()["status"] == "DONE", 90)

    assert cut_off["status"] == "RUNNING"
    assert cut_off["done"] < MANY
    assert (operation()["total"], operation()["done"], operation()["failed"]) == (MANY, MANY, 0)
    with psycopg.connect(engine.broker.database_url) as database:
        moved = datetime(2030, 1, 1, 1, tzinfo=UTC)
        assert database.execute(_TIMES, [filled.name]).fetchall() == [(moved, moved, MANY)]
