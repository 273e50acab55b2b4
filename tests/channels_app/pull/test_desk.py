"""Waiting for jobs, with real leases: who is served, who goes empty, and what goes back."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from psycopg_pool import AsyncConnectionPool

from channels_app.models import Consumer, DeliveryJob, JobStatus, Producer
from channels_app.models.consumer import ConsumerType
from channels_app.pull.desk import Desk
from channels_app.pull.lease import Ask, Leased, release, with_ready_jobs
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.pull.pools import leased_from, own_pool
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)
LONG = 30.0


@dataclass
class Asking:
    """A desk over the test's database; counts what it asks the database for."""

    pool: AsyncConnectionPool
    consumer: Consumer
    leases: int = 0
    releases: int = 0

    def __post_init__(self) -> None:
        self.desk = Desk(self._lease, self._release, self._look)
        # Between the commit of a lease and its answer.
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def ask(
        self, *, wait_seconds: float = LONG, gone: asyncio.Event | None = None, limit: int = 10
    ) -> asyncio.Task[list[Leased]]:
        ask = Ask(self.consumer.pk, cap=100, limit=limit, lease_seconds=60, max_bytes=10**6)
        return asyncio.create_task(self.desk.ask(ask, wait_seconds=wait_seconds, gone=gone or asyncio.Event()))

    async def publish(self, producer: Producer) -> DeliveryJob:
        job = await make_job_aside(self.consumer, producer)
        self.desk.hint([self.consumer.pk])
        return job

    async def until_leases(self, number: int) -> None:
        while self.leases < number:
            await asyncio.sleep(0.001)

    async def _lease(self, ask: Ask) -> list[Leased]:
        jobs = await leased_from(self.pool, ask)
        self.leases += 1
        await self.may_answer.wait()
        return jobs

    async def _release(self, jobs: Sequence[Leased]) -> None:
        async with self.pool.connection() as own:
            await release(own, jobs)
        self.releases += len(jobs)

    async def _look(self, consumer_ids: Sequence[int]) -> list[int]:
        async with self.pool.connection() as own:
            return await with_ready_jobs(own, consumer_ids)


@sync_to_async
def make_job_aside(consumer: Consumer, producer: Producer) -> DeliveryJob:
    """In a thread, whose connection would outlive the test."""
    try:
        return make_job(consumer, producer)
    finally:
        connection.close()


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel(), type=ConsumerType.PULL)


@asynccontextmanager
async def asking(consumer: Consumer) -> AsyncIterator[Asking]:
    async with own_pool(2) as pool:
        yield Asking(pool, consumer)


def test_who_waits_is_given_what_comes(consumer: Consumer, producer: Producer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            waiting = asked.ask()
            await asked.until_leases(1)
            job = await asked.publish(producer)
            assert [one.job_id for one in await waiting] == [job.pk]

    asyncio.run(case())


def test_without_a_wait_the_answer_comes_at_once(consumer: Consumer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            waiting = asked.ask()
            await asked.until_leases(1)
            assert await asked.ask(wait_seconds=0) == []
            assert not waiting.done()
            asked.desk.close()
            assert await waiting == []

    asyncio.run(case())


def test_one_look_answers_all_who_stand_in_line(consumer: Consumer) -> None:
    """A hundred who wait cost no more statements than one."""

    async def case() -> int:
        async with asking(consumer) as asked:
            waiting = [asked.ask(wait_seconds=0.2) for _ in range(100)]
            assert await asyncio.gather(*waiting) == [[]] * 100
            return asked.leases

    assert asyncio.run(case()) < 5


def test_the_first_in_line_is_served_first(consumer: Consumer, producer: Producer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            first, second = asked.ask(limit=1), asked.ask(limit=1)
            await asked.until_leases(1)
            jobs = [await asked.publish(producer), await asked.publish(producer)]
            assert [one.job_id for one in await first] == [jobs[0].pk]
            assert [one.job_id for one in await second] == [jobs[1].pk]

    asyncio.run(case())


def test_what_a_client_who_has_left_was_given_goes_back_without_a_failure(
    consumer: Consumer, producer: Producer
) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            gone = asyncio.Event()
            leaving = asked.ask(gone=gone)
            await asked.until_leases(1)
            gone.set()
            assert await leaving == []
            job = await asked.publish(producer)
            assert [one.job_id for one in await asked.ask(wait_seconds=0)] == [job.pk]

            # Gone while it is being served: the lease is there, the answer is not.
            await asked.publish(producer)
            asked.may_answer.clear()
            leases, gone = asked.leases, asyncio.Event()
            leaving = asked.ask(gone=gone)
            await asked.until_leases(leases + 1)
            gone.set()
            asked.may_answer.set()
            assert await leaving == []
            # Before it has left: what it gives back itself would else be given to it.
            assert asked.releases == 1

    asyncio.run(case())
    queued = DeliveryJob.objects.get(status=JobStatus.QUEUED)
    assert (queued.attempt, queued.failures, queued.losses) == (1, 0, 0)


def test_a_lost_hint_costs_a_second(consumer: Consumer, producer: Producer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            waiting = asked.ask()
            await asked.until_leases(1)
            rounds = asyncio.create_task(asked.desk.look_round())
            job = await make_job_aside(consumer, producer)
            assert [one.job_id for one in await waiting] == [job.pk]
            rounds.cancel()

    asyncio.run(case())


def test_a_desk_that_closes_answers_everybody(consumer: Consumer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            waiting = [asked.ask() for _ in range(3)]
            await asked.until_leases(1)
            asked.desk.close()
            assert await asyncio.gather(*waiting) == [[], [], []]
            assert await asked.ask(wait_seconds=LONG) == []

    asyncio.run(case())


def test_trouble_with_the_database_reaches_everybody_in_line(consumer: Consumer) -> None:
    async def case() -> None:
        async with asking(consumer) as asked:
            waiting = [asked.ask() for _ in range(2)]
            await asked.until_leases(1)
            await asked.pool.close()
            asked.desk.hint([consumer.pk])
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(one).__name__ for one in ended] == ["PoolClosed"] * 2

    asyncio.run(case())
