"""A real engine looks after its dead letters: it tells operations, and sends them again when the consumer recovers."""

import json
from collections.abc import Iterator

import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import Broker, wait_until


@pytest.fixture(scope="module")
def operations() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture(scope="module")
def engine(broker: Broker, operations: Receiver, request: pytest.FixtureRequest) -> Engine:
    broker.environment["OPERATIONS_WEBHOOK_URL"] = f"{operations.url}/alerts"
    started: Engine = request.getfixturevalue("own_engine")
    return started


def told(operations: Receiver) -> list[tuple[str, str]]:
    """Of dead letters: rules for all may have other things to tell of a busy machine."""
    bodies = [json.loads(delivery.body) for delivery in list(operations.deliveries)]
    return [(body["channel"], body["type"]) for body in bodies if body["type"].startswith("dead_letters.")]


def test_operations_hear_of_the_trouble_and_a_consumer_that_recovers_gets_its_letters(
    engine: Engine, operations: Receiver, receiver: Receiver
) -> None:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy={"retries": 0})
    policy = engine.web.put(f"/channel/{channel.name}/dead-letter-policy", json={"alertDepth": 1, "autoRedrive": True})
    assert policy.status_code == 200, policy.text
    places = [channel.publish().headers["Location"] for _ in range(2)]
    wait_until(lambda: [channel.statuses(place) for place in places] == [["DEAD"]] * 2, 20)
    wait_until(lambda: told(operations) == [(channel.name, "dead_letters.alert_began")], 40)

    channel.act("pause")
    receiver.answer = lambda _delivery: 200
    channel.act("resume")

    wait_until(lambda: [channel.statuses(place) for place in places] == [["DELIVERED"]] * 2, 40)
    wait_until(lambda: told(operations)[1:] == [(channel.name, "dead_letters.alert_ended")], 40)
