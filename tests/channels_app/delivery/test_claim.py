"""Taking a turn and claiming jobs, in the real database."""

from datetime import timedelta

import pytest
from django.utils import timezone
from psycopg import AsyncConnection

from channels_app import services
from channels_app.delivery.claim import Claimed, claim
from channels_app.delivery.target import Target, read_target, turn_at
from channels_app.models import Consumer, DeliveryJob, Producer
from tests.channels_app.delivery.rows import make_job, on_a_loop
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(retries=7), timeout_seconds=20.0)


def target_of(consumer: Consumer) -> Target | None:
    return on_a_loop(lambda own: read_target(own, consumer.pk))


def claimed(consumer: Consumer, most: int = 100, most_bytes: int = 10**6) -> Claimed:
    async def take(own: AsyncConnection) -> Claimed:
        target = await read_target(own, consumer.pk)
        assert target
        return await claim(own, target, most=most, most_bytes=most_bytes)

    return on_a_loop(take)


def test_priority_first_then_the_oldest(consumer: Consumer, producer: Producer) -> None:
    jobs = [make_job(consumer, producer, priority=priority) for priority in (0, 5, 0, 5)]

    first, second = claimed(consumer, most=3), claimed(consumer)

    assert [job.job_id for job in first.jobs] == [jobs[1].pk, jobs[3].pk, jobs[0].pk]
    assert [job.job_id for job in second.jobs] == [jobs[2].pk]
    assert (first.more, second.more) == (True, False)


def test_a_batch_ends_at_its_bytes_but_takes_one_at_least(consumer: Consumer, producer: Producer) -> None:
    for _ in range(5):
        make_job(consumer, producer, payload=b"x" * 1000)

    first, second = claimed(consumer, most_bytes=2_500), claimed(consumer, most_bytes=10)

    assert (len(first.jobs), first.more) == (3, True)
    assert (len(second.jobs), second.more) == (1, True)
    assert DeliveryJob.objects.filter(status=1001).count() == 1


def test_a_claim_raises_the_fence_and_leases(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer, attempt=4)
    before = timezone.now()

    [taken] = claimed(consumer).jobs

    job.refresh_from_db()
    assert (taken.attempt, job.attempt, job.status) == (5, 5, 1002)
    assert job.lease_until
    assert job.lease_until - before >= timedelta(seconds=35)


def test_what_waits_or_is_past_its_time_is_told_apart(consumer: Consumer, producer: Producer) -> None:
    make_job(consumer, producer, next_attempt_at=timezone.now() + timedelta(minutes=1))
    make_job(consumer, producer, expires_at=timezone.now() - timedelta(seconds=1))
    make_job(consumer, producer)

    assert [job.is_expired for job in claimed(consumer).jobs] == [True, False]


def test_a_turn_is_one_process_s_and_ends_with_its_connection(consumer: Consumer) -> None:
    async def two(own: AsyncConnection) -> tuple[bool, bool, bool]:
        other = await AsyncConnection.connect(own.info.dsn, autocommit=True)
        async with other:
            async with turn_at(own, consumer.pk) as first, turn_at(other, consumer.pk) as second:
                pass
            async with turn_at(other, consumer.pk) as third:
                return first, second, third

    assert on_a_loop(two) == (True, False, True)


def test_a_turn_that_fails_does_not_keep_the_lock(consumer: Consumer) -> None:
    async def fail(own: AsyncConnection) -> bool:
        with pytest.raises(ZeroDivisionError):
            async with turn_at(own, consumer.pk):
                raise ZeroDivisionError
        return own.closed

    assert on_a_loop(fail)


def test_a_consumer_takes_its_channel_s_policy_where_it_has_none(consumer: Consumer) -> None:
    target = target_of(consumer)

    assert target
    assert (target.retries, target.factor, target.timeout_seconds) == (7, 2.0, 20.0)


@pytest.mark.parametrize("paused", ["consumer", "channel"])
def test_there_is_no_target_while_paused(consumer: Consumer, paused: str) -> None:
    row = consumer if paused == "consumer" else consumer.channel
    services.pause(row)
    assert target_of(consumer) is None

    services.resume(row)
    assert target_of(consumer) is not None
