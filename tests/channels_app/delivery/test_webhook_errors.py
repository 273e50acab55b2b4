"""What is told of a try that got no answer."""

import asyncio
import socket

import pytest

from channels_app.delivery import fanout
from channels_app.models import DeliveryAttempt, Message
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


async def _deliver(consumer_id: int) -> None:
    async with couriers() as courier:
        await courier.deliver(consumer_id)


def test_a_consumer_that_says_nothing_is_told_with_its_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        consumer = make_consumer(
            make_channel(), callback_url=f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout_seconds=1
        )
        Message.objects.create(
            channel=consumer.channel, producer=make_producer(), message_id="m", payload=b"x", content_type="t"
        )
        fanout.fan_out(consumer.channel_id)
        asyncio.run(_deliver(consumer.pk))

    attempt = DeliveryAttempt.objects.get()
    assert (attempt.reason, attempt.error) == ("timeout", "TimeoutError: no answer within 1 s")
