"""Jobs that end without a try."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery import endings
from channels_app.models import Channel, Consumer, Producer
from tests.channels_app.delivery.rows import make_job, statuses
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)

QUEUED, INFLIGHT, DEAD = 1001, 1002, 1004


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def ago(seconds: float) -> dict[str, Any]:
    return {"expires_at": timezone.now() - timedelta(seconds=seconds)}


def test_what_waited_too_long_is_dead_of_every_consumer_and_priority(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    other = make_consumer(channel, "other")
    for who in (consumer, other):
        for priority in (3, 0, -3):
            make_job(who, producer, priority=priority, **ago(5))
            make_job(who, producer, priority=priority)

    assert endings.expire_old() == 6

    assert statuses(channel) == [(DEAD, "expired"), (QUEUED, None)] * 6


def test_more_than_a_window_is_drained(
    monkeypatch: pytest.MonkeyPatch, channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    monkeypatch.setattr(endings, "WINDOW", 2)
    for _ in range(7):
        make_job(consumer, producer, **ago(5))

    assert endings.expire_old() == 7


def test_what_is_in_flight_or_waits_for_a_retry_is_left_alone(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    soon = timezone.now() + timedelta(seconds=60)
    make_job(consumer, producer, status=INFLIGHT, lease_until=soon, **ago(5))
    make_job(consumer, producer, next_attempt_at=soon, **ago(5))

    assert endings.expire_old() == 0


def test_jobs_of_a_deleted_consumer_are_dead_and_its_neighbour_s_are_not(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    neighbour = make_consumer(channel, "neighbour")
    make_job(consumer, producer)
    make_job(consumer, producer, next_attempt_at=timezone.now() + timedelta(hours=1))
    make_job(neighbour, producer)

    services.delete(consumer, condition=Condition(etags=frozenset({consumer.etag})))

    assert endings.bury_gone() == 2
    assert statuses(channel) == [(DEAD, "consumer_gone"), (DEAD, "consumer_gone"), (QUEUED, None)]


def test_jobs_of_a_deleted_channel_say_so(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    make_job(consumer, producer)

    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    endings.bury_gone()

    assert statuses(channel) == [(DEAD, "channel_gone")]
