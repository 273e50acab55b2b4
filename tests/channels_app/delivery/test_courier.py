"""Turns of a courier against a real receiver: what it drops, what it leaves for later, and who rings again."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from channels_app.delivery import courier as courier_module
from channels_app.delivery.claim import LEASE_MARGIN_SECONDS, Claimed, claim
from channels_app.delivery.courier import HUNGRY, Ended
from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, JobStatus
from tests.acceptance.receiver import Receiver, receiving
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


def make_jobs(url: str, number: int, payload: bytes = b"x", **values: Any) -> Consumer:
    consumer, producer = make_consumer(make_channel(), callback_url=url, **values), make_producer()
    for _ in range(number):
        make_job(consumer, producer, payload=payload)
    return consumer


def deliver(consumer: Consumer) -> Ended:
    async def one_turn() -> Ended:
        async with couriers() as courier:
            return await courier.deliver(consumer.pk)

    return asyncio.run(one_turn())


@pytest.fixture
def gate() -> threading.Event:
    """Until it is set nobody is answered."""
    return threading.Event()


@pytest.fixture
def held(gate: threading.Event) -> Iterator[Receiver]:
    with receiving() as receiver:
        receiver.answer = lambda _delivery: 200 if gate.wait(30) else 500
        yield receiver
        gate.set()


def test_a_send_whose_lease_is_too_short_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process stood still between the claim and the send: the job is another's try, and no failure."""

    async def stood_still(*args: Any, **options: Any) -> Claimed:
        claimed = await claim(*args, **options)
        late = [replace(job, claimed_at=job.claimed_at - LEASE_MARGIN_SECONDS - 1) for job in claimed.jobs]
        return Claimed(late, more=False)

    monkeypatch.setattr(courier_module, "claim", stood_still)
    with receiving() as receiver:
        deliver(make_jobs(receiver.url, 1))

        assert receiver.deliveries == []
    job = DeliveryJob.objects.get()
    assert (job.status, job.failures, DeliveryAttempt.objects.count()) == (JobStatus.QUEUED, 0, 0)


def test_payloads_in_hand_end_a_claim(monkeypatch: pytest.MonkeyPatch, held: Receiver, gate: threading.Event) -> None:
    """Three begin within 250 bytes; a process with its hands full claims no more."""
    monkeypatch.setattr(courier_module, "MOST_BYTES_IN_HAND", 250)
    consumer = make_jobs(held.url, 5, payload=b"x" * 100)

    async def one_turn() -> Ended:
        async with couriers() as courier:
            ended = await courier.deliver(consumer.pk)
            gate.set()
        return ended

    assert asyncio.run(one_turn()) == HUNGRY
    assert len(held.deliveries) == 3
    assert DeliveryJob.objects.filter(status=JobStatus.QUEUED).count() == 2


def test_a_full_consumer_is_left_alone_until_its_next_answer_rings(held: Receiver, gate: threading.Event) -> None:
    rung: list[int] = []
    consumer = make_jobs(held.url, 3, max_in_flight=2)

    async def two_turns() -> tuple[Ended, Ended]:
        async with couriers(rung.append) as courier:
            first = await courier.deliver(consumer.pk)
            pool, courier.pool = courier.pool, None  # type: ignore[assignment]
            # Not a statement for who is full: there is nothing to ask the database with.
            second = await courier.deliver(consumer.pk)
            courier.pool = pool
            assert (rung, courier.is_hungry(consumer.pk)) == ([], True)
            gate.set()
        return first, second

    assert asyncio.run(two_turns()) == (HUNGRY, HUNGRY)
    assert rung == [consumer.pk]
