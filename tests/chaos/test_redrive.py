"""The worker that runs operations is killed in the middle of a redrive."""

import uuid
from typing import Any

from tests.acceptance.servers import wait_until
from tests.chaos import invariants
from tests.chaos.broker import Broker
from tests.chaos.load import PATIENCE_SECONDS, TIMEOUT_SECONDS, Load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale
from tests.chaos.test_schedule import A_REQUEST, TOKENS

QUEUED = """
SELECT count(*) FROM delivery_job j JOIN channel c ON c.id = j.channel_id WHERE c.public_id = %s AND j.status = 1001
"""
# As the engine ends a job whose tries have all failed.
DIE = """
UPDATE delivery_job j SET status = 1004, reason = 'http_5xx', status_changed_at = now()
FROM channel c WHERE c.id = j.channel_id AND c.public_id = %s AND j.status = 1001 RETURNING j.id
"""
TIMES_QUEUED_AGAIN = """
SELECT times, count(*) FROM (
    SELECT count(*) AS times FROM dead_letter_act a JOIN delivery_job j ON j.id = a.job_id
    JOIN channel c ON c.id = j.channel_id WHERE c.public_id = %s AND a.act = 'requeued' GROUP BY a.job_id
) AS counted GROUP BY times
"""
OPEN_LETTERS = """
SELECT count(*) FROM dead_letter l JOIN channel c ON c.id = l.channel_id WHERE c.public_id = %s AND resolution IS NULL
"""


def test_a_redrive_survives_the_death_of_its_worker(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    load = Load(broker, receiver, scale)
    channel = _add_dead(load)
    path = _redrive(load, channel)

    for blow in range(scale.blows):
        enough = 1 + scale.letters * blow // (scale.blows + 1)
        wait_until(lambda: _seen(broker, path)["done"] >= enough, PATIENCE_SECONDS)  # noqa: B023
        broker.parts.end("worker-dispatch")
        if blow == 0:
            assert _seen(broker, path)["done"] < scale.letters, "the blow came too late"
        broker.parts.restart("worker-dispatch")
    wait_until(lambda: _seen(broker, path)["status"] == "DONE", invariants.SETTLED_SECONDS)

    assert (_seen(broker, path)["done"], _seen(broker, path)["failed"]) == (scale.letters, 0)
    assert broker.rows(TIMES_QUEUED_AGAIN, [channel]) == [(1, scale.letters)]
    assert broker.rows(OPEN_LETTERS, [channel]) == [(0,)]
    invariants.hold(load)


def _add_dead(load: Load) -> str:
    """Published while the consumer is paused, so that they die untried."""
    channel, broker = f"dead-{uuid.uuid4().hex[:8]}", load.broker
    consumer = f"/channel/{channel}/consumer/k0"
    broker.put(f"/channel/{channel}", token="open", retryPolicy={"retries": 20})
    broker.put(consumer, token="mine", callbackUrl=f"{load.receiver.url}/now", timeoutSeconds=TIMEOUT_SECONDS)
    load.channels[channel] = ["k0"]
    _post(broker, f"{consumer}/pause", {})
    _publish(load, channel)
    wait_until(lambda: broker.rows(QUEUED, [channel]) == [(load.scale.letters,)], PATIENCE_SECONDS)
    assert len(broker.rows(DIE, [channel])) == load.scale.letters
    _post(broker, f"{consumer}/resume", {})
    return channel


def _publish(load: Load, channel: str) -> None:
    items = [{"messageId": f"m{number}", "payload": "x"} for number in range(load.scale.letters)]
    for first in range(0, len(items), A_REQUEST):
        path = f"/channel/{channel}/broadcast/batch"
        answer = load.broker.web.post(path, json=items[first : first + A_REQUEST], headers=TOKENS)
        assert answer.status_code == 201, answer.text
    load.accepted |= {(channel, item["messageId"]) for item in items}


def _redrive(load: Load, channel: str) -> str:
    asked = {"channel": channel, "ratePerSecond": load.scale.letters_per_second, "note": "mended"}
    return f"/operations/{_post(load.broker, '/dead-letters/redrive', asked)['id']}"


def _seen(broker: Broker, path: str) -> Any:
    return broker.web.get(path).json()


def _post(broker: Broker, path: str, body: dict[str, Any]) -> Any:
    answer = broker.web.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json()
