"""Push with explicit acknowledgement: a 2xx only says that the consumer has the job."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from channels_app.delivery import sweeps
from channels_app.delivery.courier import DRAINED, FULL, Ended
from channels_app.models import Consumer, ConsumerState, DeliveryAttempt, DeliveryJob
from channels_app.pull.fold import Ack
from tests.acceptance.receiver import Receiver, receiving
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.pull.held import APPLIED, COMPLETE, DELIVERED, INFLIGHT, QUEUED, RUNNING, ack
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


def make_explicit(receiver: Receiver, jobs: int, **values: Any) -> Consumer:
    given = {"callback_url": receiver.url, "ack_mode": "explicit", "ack_timeout_seconds": 600.0, **values}
    consumer, producer = make_consumer(make_channel(), **given), make_producer()
    for _ in range(jobs):
        make_job(consumer, producer)
    return consumer


def deliver(consumer: Consumer) -> Ended:
    return deliver_and_ring(consumer, [])


def deliver_and_ring(consumer: Consumer, rung: list[int]) -> Ended:
    async def one_turn() -> Ended:
        async with couriers(rung.append) as courier:
            return await courier.deliver(consumer.pk)

    return asyncio.run(one_turn())


def test_a_2xx_means_received_and_the_consumer_s_time_runs() -> None:
    with receiving() as receiver:
        deliver(make_explicit(receiver, 1))

        assert len(receiver.deliveries) == 1
    job = DeliveryJob.objects.get()
    assert (job.status, job.failures) == (INFLIGHT, 0)
    assert job.received_at is not None
    assert job.lease_until == job.received_at + timedelta(seconds=600)
    assert not DeliveryAttempt.objects.exists()


def test_acknowledged_later_by_the_attempt_it_was_sent_it_is_delivered() -> None:
    with receiving() as receiver:
        consumer = make_explicit(receiver, 1)
        deliver(consumer)
        sent = receiver.deliveries[0].headers

    done = ack(consumer, Ack(int(sent["x-broker-job-id"]), COMPLETE, attempt=int(sent["x-broker-attempt"])))

    assert done == [APPLIED]
    assert DeliveryJob.objects.get().status == DELIVERED


def test_an_ack_that_comes_before_the_answer_wins() -> None:
    """The consumer is done before it has answered: its 2xx finds the job delivered, and changes nothing."""
    with receiving() as receiver:
        consumer = make_explicit(receiver, 1)

        async def one_turn() -> None:
            async with couriers() as courier:
                await courier.deliver(consumer.pk)

        def acknowledge_first(delivery: Any) -> int:
            job_id = int(delivery.headers["x-broker-job-id"])
            assert ack(consumer, Ack(job_id, RUNNING), Ack(job_id, COMPLETE)) == [APPLIED, APPLIED]
            return 200

        receiver.answer = acknowledge_first
        asyncio.run(one_turn())

    job = DeliveryJob.objects.get()
    assert (job.status, job.lease_until) == (DELIVERED, None)
    assert DeliveryAttempt.objects.count() == 1


def test_any_other_answer_fails_as_ever() -> None:
    with receiving() as receiver:
        receiver.answer = lambda _delivery: 500
        deliver(make_explicit(receiver, 1))

    job = DeliveryJob.objects.get()
    assert (job.status, job.reason, job.failures, job.received_at) == (QUEUED, "http_5xx", 1, None)


def test_a_slot_stays_taken_until_the_job_is_acknowledged() -> None:
    with receiving() as receiver:
        consumer = make_explicit(receiver, 5, max_in_flight=2)

        assert deliver(consumer) == FULL
        assert len(receiver.deliveries) == 2
        assert deliver(consumer) == FULL
        assert len(receiver.deliveries) == 2
        assert not sweeps.has_free_slot(consumer.pk)

        job_id = int(receiver.deliveries[0].headers["x-broker-job-id"])
        ack(consumer, Ack(job_id, COMPLETE))

        assert sweeps.has_free_slot(consumer.pk)
        assert deliver(consumer) == FULL
        assert len(receiver.deliveries) == 3
    assert DeliveryJob.objects.filter(status=INFLIGHT).count() == 2


def test_a_slot_that_a_failure_frees_is_rung_for() -> None:
    rung: list[int] = []
    with receiving() as receiver:
        receiver.answer = lambda _delivery: 500
        consumer = make_explicit(receiver, 1)
        deliver_and_ring(consumer, rung)

    assert rung == [consumer.pk]


def test_with_room_to_spare_a_turn_ends_for_want_of_work() -> None:
    with receiving() as receiver:
        assert deliver(make_explicit(receiver, 3, max_in_flight=50)) == DRAINED

        assert len(receiver.deliveries) == 3


def test_the_next_claim_forgets_the_attempt_before() -> None:
    with receiving() as receiver:
        consumer = make_explicit(receiver, 1)
        deliver(consumer)
        job = DeliveryJob.objects.get()
        ack(consumer, Ack(job.pk, RUNNING, device_id="d-1", at=job.created_at))
        DeliveryJob.objects.update(status=QUEUED, lease_until=None)
        receiver.answer = lambda _delivery: 500
        deliver(consumer)

    job.refresh_from_db()
    assert (job.attempt, job.received_at, job.started_at, job.device_id, job.device_started_at) == (
        2,
        None,
        None,
        None,
        None,
    )


def test_what_waits_for_its_ack_keeps_no_breaker_open() -> None:
    with receiving() as receiver:
        consumer = make_explicit(receiver, 1)
        ConsumerState.objects.filter(consumer=consumer).update(streak=3)
        deliver(consumer)

    assert ConsumerState.objects.get(consumer=consumer).streak == 0
