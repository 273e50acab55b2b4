"""Acks in the real database: rows, histories, and connections that meet."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone
from psycopg import AsyncConnection

from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, Producer
from channels_app.pull.ack import Batch, acknowledge
from channels_app.pull.expiry import end_unacknowledged
from channels_app.pull.fold import Ack, Result
from tests.acceptance.servers import wait_until
from tests.channels_app.delivery.rows import make_job, on_a_loop
from tests.channels_app.locks import somebody_waits
from tests.channels_app.pull.held import (
    APPLIED,
    COMPLETE,
    DEAD,
    DELIVERED,
    DUPLICATE,
    FAILED,
    INFLIGHT,
    QUEUED,
    RUNNING,
    STALE,
    UNKNOWN,
    ack,
    acked,
    lease,
    make_leased,
    tries,
)
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 11, 16, 8, tzinfo=UTC)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(), type="pull")


def test_a_job_keeps_what_its_device_said(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)

    assert ack(consumer, Ack(job.pk, RUNNING, device_id="d-1", at=AT)) == [APPLIED]
    job.refresh_from_db()
    assert (job.status, job.device_id, job.device_started_at) == (INFLIGHT, "d-1", AT)
    assert job.started_at is not None
    assert job.lease_until is not None

    assert ack(consumer, Ack(job.pk, COMPLETE, at=AT + timedelta(seconds=9))) == [APPLIED]
    job.refresh_from_db()
    assert (job.status, job.device_id, job.device_started_at) == (DELIVERED, "d-1", AT)
    assert job.device_completed_at == AT + timedelta(seconds=9)
    assert job.lease_until is None
    assert job.reason is None
    [attempt] = DeliveryAttempt.objects.filter(job=job)
    assert (attempt.attempt, attempt.reason, attempt.device_id) == (1, None, "d-1")


def test_acks_of_one_job_in_one_request_are_folded_in_order(consumer: Consumer, producer: Producer) -> None:
    job, other = make_leased(consumer, producer), make_leased(consumer, producer)

    results = ack(
        consumer,
        Ack(job.pk, COMPLETE),
        Ack(other.pk, RUNNING),
        Ack(job.pk, RUNNING),
        Ack(other.pk, FAILED, error="no paper"),
        Ack(other.pk, FAILED),
        Ack(job.pk, COMPLETE),
    )

    assert results == [APPLIED, APPLIED, STALE, APPLIED, DUPLICATE, DUPLICATE]
    other.refresh_from_db()
    assert (other.status, other.reason, other.failures) == (QUEUED, "nacked", 1)
    assert other.started_at is not None
    assert DeliveryAttempt.objects.get(job=other).error == "no paper"


def test_unknown_ids_harm_nobody(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)
    another_s = make_leased(make_consumer(consumer.channel, "another", type="pull"), producer)

    results = ack(consumer, Ack(0, COMPLETE), Ack(another_s.pk, COMPLETE), Ack(job.pk, COMPLETE), Ack(2**62, FAILED))

    assert results == [UNKNOWN, UNKNOWN, APPLIED, UNKNOWN]
    another_s.refresh_from_db()
    assert another_s.status == INFLIGHT


def test_failures_take_the_policy_and_the_fourth_is_dead(consumer: Consumer, producer: Producer) -> None:
    job, waits = make_job(consumer, producer), []
    for attempt in range(1, 5):
        lease(job)
        assert ack(consumer, Ack(job.pk, FAILED, attempt=attempt)) == [APPLIED]
        job.refresh_from_db()
        if job.next_attempt_at is not None:
            waits.append((job.next_attempt_at - job.status_changed_at).total_seconds())

    assert waits == [1.0, 2.0, 4.0]
    assert (job.status, job.reason, job.failures) == (DEAD, "nacked", 4)
    assert tries(job) == [(n, "nacked") for n in range(1, 5)]


def test_what_is_stale_changes_nothing(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)
    ack(consumer, Ack(job.pk, FAILED, attempt=1))
    before = DeliveryJob.objects.filter(pk=lease(job).pk).values().get()

    results = ack(
        consumer, Ack(job.pk, COMPLETE, attempt=1), Ack(job.pk, FAILED, attempt=1), Ack(job.pk, RUNNING, attempt=1)
    )

    assert results == [STALE, DUPLICATE, STALE]
    assert DeliveryJob.objects.filter(pk=job.pk).values().get() == before
    assert tries(job) == [(1, "nacked")]


def test_a_job_that_was_never_taken_cannot_be_acknowledged(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer)

    assert ack(consumer, Ack(job.pk, COMPLETE), Ack(job.pk, FAILED)) == [STALE, STALE]


def test_a_named_time_makes_the_same_job_wait(consumer: Consumer, producer: Producer) -> None:
    job, later = make_leased(consumer, producer), timezone.now() + timedelta(hours=2)

    ack(consumer, Ack(job.pk, FAILED, retry_at=later))

    job.refresh_from_db()
    assert (job.status, job.failures) == (QUEUED, 1)
    assert job.next_attempt_at is not None
    assert abs(job.next_attempt_at - later) < timedelta(milliseconds=1)


def test_a_real_ending_forgets_losses_and_beginning_does_not(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, losses=4)

    ack(consumer, Ack(job.pk, RUNNING))
    job.refresh_from_db()
    assert job.losses == 4
    ack(consumer, Ack(job.pk, FAILED))
    job.refresh_from_db()
    assert job.losses == 0


def test_two_requests_of_one_group_about_one_job_have_one_ending(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)
    batches = [Batch(consumer.pk, 60.0, [Ack(job.pk, word)]) for word in (COMPLETE, FAILED, COMPLETE)]

    done = on_a_loop(lambda own: acknowledge(own, batches))

    assert done.results == [[APPLIED], [STALE], [DUPLICATE]]
    assert tries(job) == [(1, None)]


def test_an_ack_that_is_quicker_than_the_answer_starts_the_consumer_s_time(producer: Producer) -> None:
    """Our worker still waits for the answer to its POST."""
    consumer = make_consumer(make_channel(), ack_mode="explicit", ack_timeout_seconds=600.0)
    job = make_leased(consumer, producer, received_at=None)

    assert ack(consumer, Ack(job.pk, RUNNING)) == [APPLIED]

    job.refresh_from_db()
    assert job.received_at is not None
    assert job.lease_until == job.received_at + timedelta(seconds=600)


async def _own() -> AsyncConnection:
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}
    return await AsyncConnection.connect(**address, autocommit=True)


def test_ackers_with_overlapping_batches_do_not_wait_for_each_other(consumer: Consumer, producer: Producer) -> None:
    jobs = [make_leased(consumer, producer).pk for _ in range(60)]
    orders = [jobs, jobs[::-1], jobs[30:] + jobs[:30], jobs[::2] + jobs[1::2]]

    async def one(order: list[int], word: int) -> list[Result]:
        async with await _own() as own:
            acks = [Ack(job_id, (COMPLETE, FAILED)[word % 2]) for job_id in order]
            return (await acknowledge(own, [Batch(consumer.pk, 60.0, acks)])).results[0]

    async def together() -> list[list[Result]]:
        return await asyncio.gather(*(one(order, word) for word, order in enumerate(orders)))

    found = asyncio.run(together())

    applied = Counter(
        job
        for order, results in zip(orders, found, strict=True)
        for job, r in zip(order, results, strict=True)
        if r is APPLIED
    )
    assert applied == Counter(jobs)
    assert DeliveryAttempt.objects.count() == 60


@pytest.mark.parametrize("ack_is_first", [True, False])
def test_a_late_ack_and_its_timeout_have_one_outcome(
    consumer: Consumer, producer: Producer, ack_is_first: bool
) -> None:
    job = make_leased(consumer, producer, seconds=-1)

    if ack_is_first:
        assert ack(consumer, Ack(job.pk, COMPLETE, attempt=1)) == [APPLIED]
        end_unacknowledged()
    else:
        end_unacknowledged()
        assert ack(consumer, Ack(job.pk, COMPLETE, attempt=1)) == [STALE]

    job.refresh_from_db()
    assert job.status == (DELIVERED if ack_is_first else QUEUED)
    assert len(tries(job)) == 1


def test_an_ack_that_waits_for_the_sweep_finds_the_attempt_ended(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, seconds=-1)

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            end_unacknowledged()
            waiting = thread.submit(ack, consumer, Ack(job.pk, COMPLETE, attempt=1))
            wait_until(somebody_waits, 15)
        assert waiting.result(15) == [STALE]

    job.refresh_from_db()
    assert (job.status, job.reason) == (QUEUED, "ack_timeout")
    assert tries(job) == [(1, "ack_timeout")]


def test_the_sweep_leaves_a_late_job_to_the_ack_that_holds_it(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, seconds=-1)
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}
    with psycopg.connect(**address) as other:
        other.execute("SELECT FROM delivery_job WHERE id = %s FOR UPDATE", (job.pk,))

        assert end_unacknowledged().waits == set()

    job.refresh_from_db()
    assert job.status == INFLIGHT


def test_what_moved_is_told(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)

    done = acked(consumer, Ack(job.pk, RUNNING, device_id="d"), Ack(job.pk, RUNNING), Ack(job.pk, COMPLETE))

    [one] = done.moved
    assert (one.held.job_id, one.held.status, one.move.status, one.move.device_id) == (job.pk, INFLIGHT, DELIVERED, "d")
    assert (one.acker.channel, one.acker.consumer) == ("orders", "billing")
