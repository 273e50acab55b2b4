"""What is read of an answer, over a real connection."""

import asyncio

import pytest

from channels_app.delivery import fanout
from channels_app.delivery.answers import ANSWER_BYTES
from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message
from channels_app.models.channel import Answers
from tests.acceptance.receiver import receiving
from tests.channels_app.delivery.couriers import couriers
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


async def _deliver(consumer_id: int) -> None:
    async with couriers() as courier:
        await courier.deliver(consumer_id)


@pytest.mark.parametrize(("word", "status"), [("RETRY", JobStatus.QUEUED), ("DROP", JobStatus.DEAD)])
def test_what_a_dapr_consumer_says_first_counts_however_long_its_answer(word: str, status: JobStatus) -> None:
    with receiving() as receiver:
        receiver.body = b'{"status": "%s", "trace": "%s"}' % (word.encode(), b"x" * (16 * ANSWER_BYTES))
        consumer = make_consumer(make_channel(answers=Answers.DAPR), callback_url=receiver.url)
        Message.objects.create(
            channel=consumer.channel, producer=make_producer(), message_id="m", payload=b"x", content_type="t"
        )
        fanout.fan_out(consumer.channel_id)
        asyncio.run(_deliver(consumer.pk))

    assert DeliveryAttempt.objects.get().reason == "nacked"
    assert DeliveryJob.objects.get().status == status
