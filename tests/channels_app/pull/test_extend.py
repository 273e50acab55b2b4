"""Heartbeats: more time for the attempt that has the job, and for no other."""

from datetime import timedelta

import pytest
from django.utils import timezone

from channels_app.models import Consumer, Producer
from channels_app.pull.extend import Extended, Extension, extend
from tests.channels_app.delivery.rows import make_job, on_a_loop
from tests.channels_app.pull.held import APPLIED, STALE, UNKNOWN, make_leased
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(), type="pull")


def extended(consumer: Consumer, *wanted: Extension) -> list[Extended]:
    return on_a_loop(lambda own: extend(own, consumer.pk, wanted))


def test_a_lease_ends_so_many_seconds_from_now(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, seconds=1)
    before = timezone.now()

    [one] = extended(consumer, Extension(job.pk, 1, 300.0))

    job.refresh_from_db()
    assert (one.result, one.lease_until) == (APPLIED, job.lease_until)
    assert job.lease_until is not None
    assert before + timedelta(seconds=299) < job.lease_until < timezone.now() + timedelta(seconds=301)


def test_only_the_attempt_that_has_it_gets_more_time(consumer: Consumer, producer: Producer) -> None:
    job, queued = make_leased(consumer, producer), make_job(consumer, producer)
    another_s = make_leased(make_consumer(consumer.channel, "another", type="pull"), producer)
    before = job.lease_until

    found = extended(
        consumer,
        Extension(job.pk, 2, 300.0),
        Extension(queued.pk, 1, 300.0),
        Extension(another_s.pk, 1, 300.0),
        Extension(0, 1, 300.0),
    )

    assert found == [Extended(STALE), Extended(STALE), Extended(UNKNOWN), Extended(UNKNOWN)]
    job.refresh_from_db()
    assert job.lease_until == before


def test_of_two_for_one_job_the_last_counts(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer)

    first, last = extended(consumer, Extension(job.pk, 1, 3000.0), Extension(job.pk, 1, 30.0))

    job.refresh_from_db()
    assert first == last == Extended(APPLIED, job.lease_until)
    assert job.lease_until is not None
    assert job.lease_until < timezone.now() + timedelta(seconds=31)
