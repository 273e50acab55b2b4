"""Workers are killed, or asked to stop, while they deliver and fan out."""

import http.client
from signal import SIGTERM

from tests.acceptance.servers import wait_until
from tests.chaos import invariants
from tests.chaos.broker import DELIVERERS, Broker
from tests.chaos.load import PATIENCE_SECONDS, add_channel, post, under_load
from tests.chaos.receiver import Delivery, Receiver
from tests.chaos.scale import Scale

DELIVERY = DELIVERERS[0]
ATTEMPTS = """
SELECT attempt.attempt, attempt.reason FROM delivery_attempt attempt WHERE attempt.job_id = %s ORDER BY attempt.id
"""


def test_a_killed_delivery_worker_loses_nothing(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end(DELIVERY)
            load.flow()
            broker.parts.restart(DELIVERY)
            load.flow()

    invariants.hold(load)
    assert load.troubles == []


def test_a_killed_dispatch_worker_loses_nothing(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end("worker-dispatch")
            load.publish_more()
            broker.parts.restart("worker-dispatch")
            load.flow()

    invariants.hold(load)
    assert load.troubles == []


def test_a_delivery_worker_that_is_asked_to_stop_ends_its_tries(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end(DELIVERY, SIGTERM)
            broker.parts.restart(DELIVERY)
            load.flow()

    invariants.hold(load)
    assert invariants.reasons(load) == set()
    assert load.troubles == []


def test_a_worker_killed_four_times_under_one_job_still_delivers_it(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    # Long enough to find the worker and kill it before its try times out.
    channel = add_channel(broker, [f"{receiver.url}/held"], "held", timeout_seconds=10)
    assert post(http.client.HTTPConnection(*broker.address), channel, "stubborn") == 201

    for attempt in range(1, 5):
        held = _arrival(receiver, channel, attempt)
        holder = broker.deliverer_at(held.port)
        broker.parts.end(holder)
        if not scale.waits_for_leases:
            broker.run_out_lease(held.job_id)
        broker.parts.start(holder)
    receiver.release()

    last = _arrival(receiver, channel, 5)
    wait_until(lambda: _status(broker, last.job_id) == (invariants.DELIVERED, 0), PATIENCE_SECONDS)
    assert broker.rows(ATTEMPTS, [last.job_id]) == [*((number, "worker_lost") for number in range(1, 5)), (5, None)]
    broker.parts.wait_until_up(*DELIVERERS)


def _arrival(receiver: Receiver, channel: str, attempt: int) -> Delivery:
    def arrived() -> list[Delivery]:
        return [each for each in receiver.deliveries() if (each.channel, each.attempt) == (channel, attempt)]

    wait_until(lambda: bool(arrived()), PATIENCE_SECONDS)
    [delivery] = arrived()
    return delivery


def _status(broker: Broker, job_id: int) -> tuple[int, int]:
    [(status, failures)] = broker.rows("SELECT status, failures FROM delivery_job WHERE id = %s", [job_id])
    return status, failures
