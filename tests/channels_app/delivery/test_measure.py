"""Settling goes on while the Redis that counts hangs."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from broker_project.lib.tally import tally
from channels_app.delivery import fanout
from channels_app.metrics.activity import channel_key
from channels_app.models import Channel, DeliveryJob, JobStatus, Message
from tests.acceptance.receiver import receiving
from tests.acceptance.servers import wait_until
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hung_redis(settings: Any, tmp_path: Path) -> Iterator[None]:
    """It takes connections and never says a word."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "redis"))
        listening.listen(100)
        settings.REDIS_URL = f"unix://{tmp_path}/redis?db=0"
        tally.cache_clear()
        yield
    tally.cache_clear()


@pytest.fixture
def fresh_tally(redis_client: redis.Redis) -> Iterator[redis.Redis]:
    tally.cache_clear()
    yield redis_client
    tally.cache_clear()


def deliver_one(url: str) -> Channel:
    """A message of its own, delivered by a courier of its own; back when its row is settled."""
    channel = make_channel()
    consumer = make_consumer(channel, callback_url=url)
    Message.objects.create(channel=channel, producer=make_producer(), message_id="m", payload=b"x", content_type="t")
    fanout.fan_out(channel.pk)
    asyncio.run(_deliver(consumer.pk))
    return channel


async def _deliver(consumer_id: int) -> None:
    async with couriers() as courier:
        await courier.deliver(consumer_id)


def test_a_job_is_settled_though_nobody_takes_the_counts(hung_redis: None) -> None:
    with receiving() as receiver:
        deliver_one(receiver.url)

    assert DeliveryJob.objects.get().status == JobStatus.DELIVERED
    assert tally().flush() is False


def test_a_settled_job_is_counted_with_its_times(fresh_tally: redis.Redis) -> None:
    with receiving() as receiver:
        channel = deliver_one(receiver.url)

    key = channel_key(channel.public_id)
    wait_until(lambda: fresh_tally.hget(key, "attempts|ok") == b"1", 10)
    fields: Any = fresh_tally.hgetall(key)
    assert {field.rpartition(b"|")[0] for field in fields} == {b"attempts", b"delivery|ok", b"end_to_end|delivered"}
    assert float(fields[b"end_to_end|delivered|sum"]) >= float(fields[b"delivery|ok|sum"]) >= 0
