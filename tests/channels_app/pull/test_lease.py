"""Leasing jobs, in the real database."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app import services
from channels_app.models import Consumer, JobStatus, Producer
from channels_app.models.consumer import ConsumerType
from channels_app.pull.lease import Ask, Leased, lease, release, with_ready_jobs
from tests.channels_app.delivery.rows import make_job, on_a_loop
from tests.channels_app.pull.pools import leased_from, own_pool
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(), type=ConsumerType.PULL)


def ask(consumer: Consumer, **values: Any) -> Ask:
    return Ask(
        **{"consumer_id": consumer.pk, "cap": 1_000, "limit": 100, "lease_seconds": 60, "max_bytes": 10**6, **values}
    )


def leased(asked: Ask) -> list[Leased]:
    return on_a_loop(lambda own: lease(own, asked))


def test_priority_first_then_the_oldest(consumer: Consumer, producer: Producer) -> None:
    jobs = [make_job(consumer, producer, priority=priority) for priority in (0, 5, 0, 5)]

    assert [job.job_id for job in leased(ask(consumer, limit=3))] == [jobs[1].pk, jobs[3].pk, jobs[0].pk]
    assert [job.job_id for job in leased(ask(consumer))] == [jobs[2].pk]
    assert leased(ask(consumer)) == []


def test_a_lease_raises_the_fence_and_says_whose_it_is(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer, attempt=4, started_at=timezone.now())

    [taken] = leased(ask(consumer, lease_seconds=90, device_id="pump-7"))

    job.refresh_from_db()
    assert (taken.attempt, job.attempt, job.status, job.device_id) == (5, 5, JobStatus.INFLIGHT, "pump-7")
    assert job.received_at
    assert job.started_at is None
    assert taken.lease_until == job.lease_until == job.received_at + timedelta(seconds=90)


def test_a_batch_ends_at_its_bytes_but_has_one_at_least(consumer: Consumer, producer: Producer) -> None:
    for _ in range(4):
        make_job(consumer, producer, payload=b"x" * 1_000)

    assert len(leased(ask(consumer, max_bytes=2_500))) == 2
    assert len(leased(ask(consumer, max_bytes=1))) == 1


def test_nobody_holds_more_than_its_cap(consumer: Consumer, producer: Producer) -> None:
    for _ in range(5):
        make_job(consumer, producer)

    assert [len(leased(ask(consumer, cap=3))) for _ in range(2)] == [3, 0]


def test_what_waits_or_is_too_old_is_not_leased(consumer: Consumer, producer: Producer) -> None:
    make_job(consumer, producer, next_attempt_at=timezone.now() + timedelta(minutes=1))
    make_job(consumer, producer, expires_at=timezone.now() - timedelta(seconds=1))

    assert leased(ask(consumer)) == []


def test_nothing_is_leased_while_consumer_or_channel_are_paused(consumer: Consumer, producer: Producer) -> None:
    make_job(consumer, producer)

    for stopped in (consumer, consumer.channel):
        services.pause(stopped)
        assert leased(ask(consumer)) == []
        services.resume(stopped)

    assert len(leased(ask(consumer))) == 1


def test_what_is_released_is_ready_again_and_no_failure(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer)
    taken = leased(ask(consumer))

    on_a_loop(lambda own: release(own, taken))
    # The second time it is another's.
    [again] = leased(ask(consumer))
    on_a_loop(lambda own: release(own, taken))

    job.refresh_from_db()
    assert (job.status, job.failures, job.losses, job.attempt) == (JobStatus.INFLIGHT, 0, 0, 2)
    assert again.attempt == 2


def test_many_who_ask_at_once_get_each_job_once(consumer: Consumer, producer: Producer) -> None:
    jobs = {make_job(consumer, producer).pk for _ in range(40)}

    async def all_at_once() -> list[list[Leased]]:
        async with own_pool(8) as pool:
            return await asyncio.gather(*(leased_from(pool, ask(consumer, limit=10, cap=35)) for _ in range(8)))

    given = [job.job_id for batch in asyncio.run(all_at_once()) for job in batch]

    assert len(given) == len(set(given)) == 35
    assert set(given) < jobs


def test_the_look_says_who_would_get_something(consumer: Consumer, producer: Producer) -> None:
    other = make_consumer(consumer.channel, "other", type=ConsumerType.PULL)
    make_job(consumer, producer)
    make_job(other, producer, next_attempt_at=timezone.now() + timedelta(minutes=1))

    assert on_a_loop(lambda own: with_ready_jobs(own, [consumer.pk, other.pk])) == [consumer.pk]


@pytest.mark.parametrize("values", [{"pull_mode": "index"}, {"type": "push"}])
def test_one_that_changed_while_it_waited_is_leased_nothing(
    consumer: Consumer, producer: Producer, values: dict[str, str]
) -> None:
    make_job(consumer, producer)
    Consumer.objects.filter(pk=consumer.pk).update(**values)

    assert leased(ask(consumer)) == []
