"""Ack timeouts, and jobs of consumers that are gone while they have them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery import endings, sweeps
from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, Producer
from channels_app.pull import expiry
from channels_app.pull.expiry import end_unacknowledged
from tests.channels_app.delivery.rows import make_job, statuses
from tests.channels_app.pull.held import DEAD, INFLIGHT, QUEUED, lease, make_leased, tries
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, type="pull")


def test_no_ack_in_time_is_a_failure_with_that_reason(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, seconds=-1, device_id="d-7")
    in_time = make_leased(consumer, producer)

    expired = end_unacknowledged()

    job.refresh_from_db()
    in_time.refresh_from_db()
    assert (job.status, job.reason, job.failures, job.losses) == (QUEUED, "ack_timeout", 1, 1)
    assert job.next_attempt_at == job.status_changed_at + timedelta(seconds=1)
    assert in_time.status == INFLIGHT
    attempt = DeliveryAttempt.objects.get(job=job)
    assert (attempt.attempt, attempt.reason, attempt.device_id) == (1, "ack_timeout", "d-7")
    assert expired.waits == {1.0}


def test_the_budget_spent_on_timeouts_is_dead(consumer: Consumer, producer: Producer) -> None:
    job, waits = make_job(consumer, producer), []
    for _ in range(4):
        lease(job, seconds=-1)
        waits += sorted(end_unacknowledged().waits)

    job.refresh_from_db()
    assert (job.status, job.reason, job.failures) == (DEAD, "ack_timeout", 4)
    assert waits == [1.0, 2.0, 4.0]
    assert tries(job) == [(n, "ack_timeout") for n in range(1, 5)]


def test_a_job_that_kills_its_consumers_is_poison(channel: Channel, producer: Producer) -> None:
    patient = make_consumer(channel, "patient", type="pull", retries=100)
    job = make_leased(patient, producer, seconds=-1, losses=9)

    end_unacknowledged()

    job.refresh_from_db()
    assert (job.status, job.reason, job.losses) == (DEAD, "poison", 10)
    assert tries(job) == [(1, "ack_timeout")]


def test_a_lost_worker_and_a_silent_consumer_are_told_apart(channel: Channel, producer: Producer) -> None:
    explicit = make_consumer(channel, ack_mode="explicit")
    sent = make_leased(explicit, producer, seconds=-1, received_at=None)
    received = make_leased(explicit, producer, seconds=-1)

    work = sweeps.take_back_lost()
    expired = end_unacknowledged()

    sent.refresh_from_db()
    received.refresh_from_db()
    assert (sent.failures, sent.losses, tries(sent)) == (0, 1, [(1, "worker_lost")])
    assert (received.failures, received.losses, tries(received)) == (1, 1, [(1, "ack_timeout")])
    assert work.push == expired.work.push == {explicit.pk}


def test_more_than_a_batch_is_drained(monkeypatch: pytest.MonkeyPatch, consumer: Consumer, producer: Producer) -> None:
    monkeypatch.setattr(expiry, "MOST", 2)
    for _ in range(5):
        make_leased(consumer, producer, seconds=-1)

    end_unacknowledged()

    assert DeliveryJob.objects.filter(status=QUEUED, reason="ack_timeout").count() == 5


def test_what_was_polled_by_index_has_no_time(channel: Channel, producer: Producer) -> None:
    by_index = make_consumer(channel, "by-index", type="pull", pull_mode="index")
    job = make_leased(by_index, producer, lease_until=None, received_at=timezone.now() - timedelta(days=1))

    end_unacknowledged()
    sweeps.take_back_lost()

    job.refresh_from_db()
    assert job.status == INFLIGHT


def test_what_a_deleted_consumer_has_ends_with_it(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    make_leased(consumer, producer)
    make_leased(consumer, producer, lease_until=None)
    ours = make_leased(consumer, producer, received_at=None)

    services.delete(consumer, condition=Condition(etags=frozenset({consumer.etag})))

    assert endings.bury_gone() == 2
    assert statuses(channel) == [(DEAD, "consumer_gone"), (DEAD, "consumer_gone"), (INFLIGHT, None)]
    assert tries(ours) == []


def test_what_a_consumer_of_a_channel_deleted_long_ago_has_is_still_found(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    job = make_leased(consumer, producer)
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    Consumer.objects.update(deleted_at=timezone.now() - timedelta(hours=1))

    endings.bury_gone()

    assert statuses(channel) == [(DEAD, "channel_gone")]
    assert tries(job) == [(1, "channel_gone")]
