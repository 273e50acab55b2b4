"""One job to its next state: what is allowed, to whom, and what it leaves behind."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from broker_project.lib.errors import BrokerError
from channels_app import services
from channels_app.errors import UnknownJob
from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, Producer
from channels_app.pull.expiry import end_unacknowledged
from channels_app.pull.transition import (
    InFlightFull,
    JobNotReady,
    NextState,
    StaleAttempt,
    State,
    TransitionNotAllowed,
    Wanted,
    transit,
)
from tests.channels_app.delivery.rows import make_job, on_a_loop
from tests.channels_app.pull.held import DEAD, DELIVERED, INFLIGHT, QUEUED, lease, make_leased, tries
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(), type="pull", max_in_flight=2)


def go(job: DeliveryJob, state: str, **values: Any) -> State:
    """The job's consumer says so; the row is read anew."""
    consumer = job.consumer
    defaults = {"lease_seconds": 60.0, "ack_timeout_seconds": 60.0, "cap": consumer.in_flight_cap}
    wanted = Wanted(consumer.pk, job.pk, NextState(state), **{**defaults, **values})
    found, _ = on_a_loop(lambda own: transit(own, wanted))
    job.refresh_from_db()
    return found


def test_a_ready_job_is_taken(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer, started_at=timezone.now(), device_id="before")

    state = go(job, "INFLIGHT", device_id="d-1", lease_seconds=600.0)

    assert state == State(1, job.lease_until, "d-1")
    assert (job.status, job.started_at) == (INFLIGHT, None)
    assert job.received_at is not None
    assert job.lease_until == job.received_at + timedelta(seconds=600)


def test_a_job_that_waits_or_is_too_old_is_not_taken(consumer: Consumer, producer: Producer) -> None:
    soon = timezone.now() + timedelta(hours=1)
    waits = make_job(consumer, producer, next_attempt_at=soon)
    old = make_job(consumer, producer, expires_at=timezone.now() - timedelta(seconds=1))

    for job in (waits, old):
        with pytest.raises(JobNotReady):
            go(job, "INFLIGHT")


def test_nothing_is_taken_while_the_consumer_is_paused(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer)
    services.pause(consumer)

    with pytest.raises(JobNotReady):
        go(job, "INFLIGHT")


def test_a_word_on_an_attempt_that_ended_otherwise_comes_too_late(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, seconds=-1.0)
    end_unacknowledged()

    for state, error in (("DELIVERED", None), ("DEAD", None), ("QUEUED", "broken")):
        with pytest.raises(StaleAttempt):
            go(job, state, attempt=1, error=error)
    job.refresh_from_db()
    assert (job.failures, tries(job)) == (1, [(1, "ack_timeout")])


def test_what_was_said_of_an_attempt_may_be_said_again(consumer: Consumer, producer: Producer) -> None:
    failed, done = make_leased(consumer, producer), make_leased(consumer, producer)

    for _ in range(2):
        go(failed, "QUEUED", attempt=1, error="broken")
        go(done, "DELIVERED", attempt=1)

    assert (failed.status, failed.failures, done.status) == (QUEUED, 1, DELIVERED)


def test_the_cap_holds_for_a_job_taken_alone(consumer: Consumer, producer: Producer) -> None:
    make_leased(consumer, producer)
    make_leased(consumer, producer)

    with pytest.raises(InFlightFull):
        go(make_job(consumer, producer), "INFLIGHT")


def test_a_consumer_that_is_pushed_to_takes_nothing(producer: Producer) -> None:
    pushed = make_consumer(make_channel("others"), ack_mode="explicit")

    with pytest.raises(TransitionNotAllowed):
        go(make_job(pushed, producer), "INFLIGHT", cap=None)


@pytest.mark.parametrize("who", [{"attempt": 1}, {"device_id": "d-1"}])
def test_its_holder_gets_more_time(consumer: Consumer, producer: Producer, who: dict[str, Any]) -> None:
    job = make_leased(consumer, producer, seconds=1, device_id="d-1")

    state = go(job, "INFLIGHT", lease_seconds=900.0, **who)

    assert state == State(1, job.lease_until, "d-1")
    assert job.lease_until is not None
    assert job.lease_until > timezone.now() + timedelta(seconds=890)
    assert job.status == INFLIGHT


@pytest.mark.parametrize("who", [{}, {"attempt": 2}, {"device_id": "d-2"}])
def test_nobody_else_gets_it(consumer: Consumer, producer: Producer, who: dict[str, Any]) -> None:
    job = make_leased(consumer, producer, device_id="d-1")
    before = job.lease_until

    with pytest.raises(StaleAttempt):
        go(job, "INFLIGHT", lease_seconds=900.0, **who)

    job.refresh_from_db()
    assert job.lease_until == before


def test_who_has_lost_its_attempt_does_not_take_the_next_by_mistake(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer, attempt=1)

    with pytest.raises(StaleAttempt):
        go(job, "INFLIGHT", attempt=1)


def test_delivered_ends_it_and_again_changes_nothing(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)

    assert go(job, "DELIVERED", attempt=1, device_id="d-3") == State(1, None, "d-3")
    changed_at = job.status_changed_at
    go(job, "DELIVERED")

    assert (job.status, job.status_changed_at) == (DELIVERED, changed_at)
    assert tries(job) == [(1, None)]


def test_dead_by_its_consumer_is_nacked_however_many_tries_are_left(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)

    go(job, "DEAD", error="not mine")
    go(job, "DEAD")

    assert (job.status, job.reason) == (DEAD, "nacked")
    assert DeliveryAttempt.objects.get(job=job).error == "not mine"


def test_a_release_is_no_failure(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, losses=3)

    go(job, "QUEUED")

    assert (job.status, job.failures, job.losses, job.next_attempt_at) == (QUEUED, 0, 3, None)
    assert tries(job) == []


@pytest.mark.parametrize("why", [{"error": "jam"}, {"retry_at": timezone.now() + timedelta(hours=3)}])
def test_given_back_with_a_reason_it_is_a_failure(consumer: Consumer, producer: Producer, why: dict[str, Any]) -> None:
    job = make_leased(consumer, producer)

    go(job, "QUEUED", **why)

    assert (job.status, job.failures, job.reason) == (QUEUED, 1, "nacked")
    assert tries(job) == [(1, "nacked")]
    assert job.next_attempt_at is not None
    if "retry_at" in why:
        assert abs(job.next_attempt_at - why["retry_at"]) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("status", "state"),
    [(QUEUED, "DELIVERED"), (QUEUED, "DEAD"), (DELIVERED, "DEAD"), (DELIVERED, "INFLIGHT"), (DEAD, "QUEUED")],
)
def test_other_ways_are_not_allowed(consumer: Consumer, producer: Producer, status: int, state: str) -> None:
    job = make_job(consumer, producer, status=status, reason="nacked")

    with pytest.raises(TransitionNotAllowed):
        go(job, state)


@pytest.mark.parametrize("state", ["INFLIGHT", "DELIVERED", "DEAD", "QUEUED"])
def test_a_stale_attempt_changes_nothing(consumer: Consumer, producer: Producer, state: str) -> None:
    job = lease(make_leased(consumer, producer))

    with pytest.raises(StaleAttempt):
        go(job, state, attempt=1)

    job.refresh_from_db()
    assert (job.status, job.attempt) == (INFLIGHT, 2)


def test_another_s_job_is_unknown(consumer: Consumer, producer: Producer) -> None:
    other = make_consumer(consumer.channel, "another", type="pull")
    wanted = Wanted(other.pk, make_leased(consumer, producer).pk, NextState.DELIVERED, 60.0, 60.0, 10)

    with pytest.raises(UnknownJob):
        on_a_loop(lambda own: transit(own, wanted))


def test_each_refusal_has_its_status() -> None:
    refusals: list[type[BrokerError]] = [UnknownJob, StaleAttempt, JobNotReady, InFlightFull, TransitionNotAllowed]

    assert [one.status for one in refusals] == [404, 409, 409, 409, 400]
