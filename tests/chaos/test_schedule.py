"""The worker that dispatches is killed in the middle of a burst of messages for later."""

import uuid
from datetime import UTC, datetime, timedelta

from tests.acceptance.servers import wait_until
from tests.chaos import invariants
from tests.chaos.broker import Broker
from tests.chaos.load import PATIENCE_SECONDS, TIMEOUT_SECONDS, Load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale

A_REQUEST = 1_000
TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
# Time enough to store them before the first is due.
AHEAD = timedelta(seconds=10)
MOVED = "SELECT count(*) FROM message JOIN channel ON channel.id = channel_id WHERE public_id = %s"
STATUSES = """
SELECT DISTINCT s.status FROM scheduled_message s JOIN channel ON channel.id = s.channel_id WHERE public_id = %s
"""
# Of each partition, in the order in which they were due, those whose row came before their predecessor's.
OUT_OF_ORDER = """
SELECT count(*) FROM (
    SELECT m.id < lag(m.id) OVER (PARTITION BY s.partition ORDER BY s.due_at, s.id) AS is_wrong
    FROM scheduled_message s JOIN message m USING (channel_id, message_id) JOIN channel ON channel.id = s.channel_id
    WHERE public_id = %s AND m.partition = s.partition
) AS placed WHERE is_wrong
"""


def test_a_burst_survives_the_death_of_its_dispatcher(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    load = Load(broker, receiver, scale)
    channel = _add_channel(load)
    due = datetime.now(UTC) + AHEAD
    _schedule(load, channel, due)
    assert datetime.now(UTC) < due, "it took too long to store them"

    for blow in range(scale.blows):
        enough = 1 + scale.burst * blow // (scale.blows + 1)
        wait_until(lambda: _moved(broker, channel) >= enough, PATIENCE_SECONDS)  # noqa: B023
        broker.parts.end("worker-dispatch")
        if blow == 0:
            assert _moved(broker, channel) < scale.burst, "the blow came too late"
        broker.parts.restart("worker-dispatch")
    wait_until(lambda: _moved(broker, channel) == scale.burst, invariants.SETTLED_SECONDS)

    invariants.hold(load)
    assert broker.rows(STATUSES, [channel]) == [(101,)]
    assert broker.rows(OUT_OF_ORDER, [channel]) == [(0,)]


def _add_channel(load: Load) -> str:
    channel, scale = f"burst-{uuid.uuid4().hex[:8]}", load.scale
    fields = {"releasePerSecond": scale.release_per_second} if scale.release_per_second else {}
    load.broker.put(f"/channel/{channel}", token="open", partitions=2, retryPolicy={"retries": 20}, **fields)
    callback = f"{load.receiver.url}/now"
    path = f"/channel/{channel}/consumer/k0"
    load.broker.put(path, token="mine", callbackUrl=callback, timeoutSeconds=TIMEOUT_SECONDS)
    load.channels[channel] = ["k0"]
    return channel


def _schedule(load: Load, channel: str, due: datetime) -> None:
    """A few instants, in another order than that of arrival."""
    items = [
        {"messageId": f"m{n}", "payload": "x", "scheduledFor": (due + timedelta(milliseconds=n * 7 % 10)).isoformat()}
        for n in range(load.scale.burst)
    ]
    for first in range(0, len(items), A_REQUEST):
        path = f"/channel/{channel}/broadcast/batch"
        answer = load.broker.web.post(path, json=items[first : first + A_REQUEST], headers=TOKENS)
        assert answer.status_code == 201, answer.text
    load.accepted |= {(channel, item["messageId"]) for item in items}


def _moved(broker: Broker, channel: str) -> int:
    [(count,)] = broker.rows(MOVED, [channel])
    return int(count)
