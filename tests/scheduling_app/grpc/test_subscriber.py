"""A subscriber on the tests' database, with a stream that the test plays."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from dapr.proto.runtime.v1.appcallback_pb2 import TopicEventRequest, TopicEventResponse
from dapr.proto.runtime.v1.pubsub_pb2 import SubscribeTopicEventsRequestProcessedAlpha1
from django.db import connection
from psycopg.conninfo import make_conninfo

from broker_project.api.door_pool import close_door_pool, door_pool, open_door_pool
from broker_project.api.group_commit import DoorFull, GroupCommit
from channels_app.api.pull import acks
from channels_app.api.pull.waiting import desk
from channels_app.models import Consumer, DeliveryJob, JobStatus
from channels_app.models.consumer import ConsumerType
from channels_app.pull.ack import Batch
from channels_app.pull.fold import Result
from channels_app.registry import Entry, registry
from scheduling_app.grpc import subscriber as subscribers
from scheduling_app.grpc.places import Place
from scheduling_app.grpc.subscriber import Subscriber
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.pull.held import tries
from tests.channels_app.registry import make_channel, make_consumer, make_producer

SUCCESS = TopicEventResponse(status=TopicEventResponse.SUCCESS)


@pytest.fixture
def consumer(transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Consumer:
    parameters = connection.get_connection_params()
    settings.DATABASE_URL = make_conninfo(**{name: parameters[name] for name in ("dbname", "user", "host")})
    # So that it is what it was when this test is over.
    monkeypatch.setattr(acks, "_commits", acks._commits)
    return make_consumer(make_channel(), "shop", type=ConsumerType.PULL)


@asynccontextmanager
async def doors() -> AsyncIterator[None]:
    door_pool.cache_clear()
    desk.cache_clear()
    # Each belongs to one event loop.
    acks._commits = GroupCommit[Batch, list[Result]](acks._write, size_of=lambda batch: len(batch.acks))
    await open_door_pool()
    await acks.start_door()
    try:
        yield
    finally:
        await desk().finish()
        await acks.stop_door()
        await close_door_pool()
        door_pool.cache_clear()
        desk.cache_clear()


def played(consumer: Consumer, play: Callable[[Subscriber, list[str]], Awaitable[None]], number: int) -> None:
    """A stream that gets so many events; then `play` goes on with it and their ids, and it ends."""
    entry = registry().consumer(consumer.channel_id, consumer.public_id)
    assert entry is not None

    async def stream() -> None:
        async with doors(), asyncio.timeout(30):
            one = Subscriber(Place("shop", "pubsub", "orders", Entry(1, ""), entry), peer="here", is_raw=False)
            sent: list[str] = []
            arrived = asyncio.Event()

            async def send(event: TopicEventRequest) -> None:
                sent.append(event.id)
                if len(sent) == number:
                    arrived.set()

            feeding = asyncio.create_task(one.feed(send, _go_on))
            await arrived.wait()
            feeding.cancel()
            await asyncio.wait({feeding})
            await play(one, sent)
            await one.end()

    asyncio.run(stream())


async def _go_on() -> None:
    pass


async def breaks(one: Subscriber, _sent: list[str]) -> None:
    one.blame()


def state(job: DeliveryJob) -> tuple[str, int]:
    job.refresh_from_db()
    return JobStatus(job.status).name, job.failures


def test_what_was_not_answered_for_goes_back_without_a_failure_once(consumer: Consumer) -> None:
    job = make_job(consumer, make_producer())
    played(consumer, breaks, 1)
    assert (state(job), tries(job)) == (("QUEUED", 0), [])


def test_an_event_that_breaks_a_second_stream_has_failed_and_those_behind_it_have_not(consumer: Consumer) -> None:
    producer = make_producer()
    poison, behind = make_job(consumer, producer), make_job(consumer, producer)
    played(consumer, breaks, 2)
    played(consumer, breaks, 2)
    assert (state(poison), state(behind)) == (("QUEUED", 1), ("QUEUED", 0))
    assert tries(poison) == [(2, "nacked")]


def test_an_event_that_breaks_every_stream_ends_as_dead(consumer: Consumer) -> None:
    poison = make_job(consumer, make_producer(), attempt=9, failures=3)
    played(consumer, breaks, 1)
    assert state(poison) == ("DEAD", 4)


def test_a_stream_that_ends_blames_nobody(consumer: Consumer) -> None:
    job = make_job(consumer, make_producer(), attempt=5)
    played(consumer, _nothing, 1)
    assert state(job) == ("QUEUED", 0)


async def _nothing(_one: Subscriber, _sent: list[str]) -> None:
    pass


def test_a_success_that_finds_the_door_full_is_not_lost(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscribers, "AGAIN_SECONDS", 0.01)
    job = make_job(consumer, make_producer())

    async def answers(one: Subscriber, sent: list[str]) -> None:
        door = acks._commits
        door._max_waiting = 0
        with pytest.raises(DoorFull):
            acks.put(Batch(consumer.pk, 60.0, []))
        one.answer(SubscribeTopicEventsRequestProcessedAlpha1(id=sent[0], status=SUCCESS))
        await asyncio.sleep(0)
        door._max_waiting = 10_000

    played(consumer, answers, 1)
    assert state(job) == ("DELIVERED", 0)


def test_no_more_bytes_are_taken_than_a_stream_may_have(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscribers, "MOST_HELD_BYTES", 10)
    producer = make_producer()
    jobs = [make_job(consumer, producer, payload=b"seven..") for _ in range(3)]
    taken: list[int] = []

    async def look(one: Subscriber, _sent: list[str]) -> None:
        taken.extend(job.job_id for job in one.held.jobs)
        assert all(job.payload == b"" for job in one.held.jobs)
        assert not one.held.has_room.is_set()

    played(consumer, look, 1)
    assert taken == [jobs[0].pk]
