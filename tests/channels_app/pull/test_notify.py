"""A word to a consumer that asks: what it says, who gets it, and how often."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from channels_app import services
from channels_app.delivery.fanout import fan_out
from channels_app.delivery.work import Work
from channels_app.doorbell import doorbell, notify_bell, ring_work
from channels_app.models import Consumer, ConsumerState, DeliveryAttempt, DeliveryJob, JobStatus
from channels_app.pull.notify import GAP_SECONDS, Notifier, seconds_to_wait
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.messages import make_messages
from tests.channels_app.pull.pollers import Poller, make_poller, publish
from tests.channels_app.registry import make_channel, make_consumer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def poller(receiver: Receiver) -> Poller:
    return make_poller(callback_url=f"{receiver.url}/work")


@asynccontextmanager
async def notifiers() -> AsyncIterator[Notifier]:
    async with couriers() as courier:
        notifier = Notifier(courier.pool, courier.session)
        yield notifier
        await asyncio.gather(*notifier.under_way)


def notify(consumer: Consumer, times: int = 1) -> list[bool]:
    """So many processes at once; waits until what they have sent was answered."""

    async def run() -> list[bool]:
        async with notifiers() as notifier:
            return list(await asyncio.gather(*(notifier.notify(consumer.pk) for _ in range(times))))

    return asyncio.run(run())


def told(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(delivery.body) for delivery in receiver.deliveries]


def a_second_later() -> None:
    ConsumerState.objects.update(notified_at=timezone.now() - timedelta(seconds=GAP_SECONDS))


def test_it_says_how_much_there_is_and_where_it_begins(receiver: Receiver, poller: Poller) -> None:
    publish(poller.consumer.channel, 5)
    poller.poll(limit=3)
    poller.ack(1)
    poller.ack(3)

    notify(poller.consumer)

    assert told(receiver) == [{"channel": "orders", "consumer": "k", "lowestUnackedIndex": 2, "count": 3}]
    assert receiver.deliveries[0].path == "/work"


def test_of_one_that_leases_the_oldest_open_job_counts_whatever_its_priority(receiver: Receiver) -> None:
    channel = make_channel()
    consumer = make_consumer(channel, "k", type="pull", callback_url=receiver.url)
    publish(channel, 3, priority=1)
    publish(channel, 1, priority=7)
    publish(channel, 1, priority=0)
    DeliveryJob.objects.filter(message__sequence=1).update(status=JobStatus.DELIVERED)
    notify(consumer)
    now = timezone.now()
    DeliveryJob.objects.filter(message__sequence__lte=3).update(
        status=JobStatus.INFLIGHT, lease_until=now, received_at=now
    )
    a_second_later()
    notify(consumer)

    assert [(note["lowestUnackedIndex"], note["count"]) for note in told(receiver)] == [(2, 4), (1, 5)]


def test_it_is_signed_and_addressed_like_a_delivery(receiver: Receiver, poller: Poller) -> None:
    publish(poller.consumer.channel, 1)

    notify(poller.consumer)

    [note] = receiver.deliveries
    sent = note.headers
    assert (sent["x-broker-channel-id"], sent["x-broker-consumer-id"]) == ("orders", "k")
    assert (sent["x-broker-consumer-token"], sent["content-type"]) == ("mine", "application/json")
    key = base64.b64decode(poller.consumer.signing_secret.removeprefix("whsec_"))
    signed = f"{sent['webhook-id']}.{sent['webhook-timestamp']}.".encode() + note.body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert sent["webhook-signature"] == f"v1,{digest}"


@pytest.mark.parametrize("status", [200, 410, 500])
def test_its_answer_is_ignored(receiver: Receiver, poller: Poller, status: int) -> None:
    receiver.answer = lambda _delivery: status
    publish(poller.consumer.channel, 1)

    notify(poller.consumer)

    assert len(receiver.deliveries) == 1
    assert not DeliveryAttempt.objects.exists()
    assert ConsumerState.objects.get().disabled_at is None
    assert poller.job(1).status == JobStatus.QUEUED


def test_one_that_cannot_be_reached_harms_nobody() -> None:
    poller = make_poller(callback_url="http://127.0.0.1:9/")
    publish(poller.consumer.channel, 1)

    assert notify(poller.consumer) == [True]


def test_of_many_processes_one_tells_and_the_others_come_again(receiver: Receiver, poller: Poller) -> None:
    publish(poller.consumer.channel, 1)

    assert sorted(notify(poller.consumer, times=4)) == [False, False, False, True]
    assert len(receiver.deliveries) == 1
    assert 0 < seconds_to_wait(poller.consumer.pk) <= GAP_SECONDS


def test_a_second_later_it_may_be_told_again(receiver: Receiver, poller: Poller) -> None:
    publish(poller.consumer.channel, 1)
    notify(poller.consumer)
    a_second_later()

    assert seconds_to_wait(poller.consumer.pk) == 0
    assert notify(poller.consumer) == [True]
    assert len(receiver.deliveries) == 2


def test_with_nothing_open_nothing_is_told_and_no_turn_is_lost(receiver: Receiver, poller: Poller) -> None:
    publish(poller.consumer.channel, 1)
    poller.poll()
    poller.ack(1)

    assert notify(poller.consumer) == [True]
    assert (receiver.deliveries, seconds_to_wait(poller.consumer.pk)) == ([], 0)


def _pause(consumer: Consumer) -> None:
    services.pause(consumer)


def _pause_channel(consumer: Consumer) -> None:
    services.pause(consumer.channel)


def _disable(consumer: Consumer) -> None:
    ConsumerState.objects.filter(pk=consumer.pk).update(disabled_at=timezone.now(), disabled_reason="gone")


def _delete(consumer: Consumer) -> None:
    Consumer.objects.filter(pk=consumer.pk).update(deleted_at=timezone.now())


@pytest.mark.parametrize("stop", [_pause, _pause_channel, _disable, _delete])
def test_one_that_wants_nothing_now_is_told_nothing(receiver: Receiver, poller: Poller, stop: Any) -> None:
    publish(poller.consumer.channel, 1)
    stop(poller.consumer)

    assert notify(poller.consumer) == [True]
    assert receiver.deliveries == []


def test_work_rings_once_for_each_that_is_told(redis_client: redis.Redis) -> None:
    """The bell hangs in Redis until it is answered."""
    doorbell.cache_clear()

    ring_work(Work(pull=frozenset({11, 12}), told=frozenset({12})))

    wait_until(lambda: bool(redis_client.exists(notify_bell(12).key)), 10)
    assert not redis_client.exists(notify_bell(11).key)


def test_fan_out_names_those_who_want_to_be_told(receiver: Receiver) -> None:
    channel = make_channel()
    told_one = make_poller(channel, "told", callback_url=receiver.url)
    make_poller(channel, "asks")
    make_messages(channel, "m1")

    work = fan_out(channel.pk).work

    assert work.told == {told_one.consumer.pk}
    assert len(work.pull) == 2
