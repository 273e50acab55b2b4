"""Messages, jobs and tries as the engine would leave them, without running it."""

from typing import Any

from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, Message, MessageKey, Producer


def make_message(channel: Channel, producer: Producer, message_id: str = "m-1", **values: Any) -> Message:
    given = {"payload": b"{}", "content_type": "application/json", **values}
    message = Message.objects.create(channel=channel, producer=producer, message_id=message_id, **given)
    MessageKey.objects.create(channel_id=channel.pk, message_id=message_id, row_id=message.pk)
    return message


def make_job(message: Message, consumer: Consumer, **values: Any) -> DeliveryJob:
    return DeliveryJob.objects.create(
        message=message, channel=message.channel, consumer=consumer, **{"priority": 0, **values}
    )


def make_attempt(job: DeliveryJob, attempt: int, **values: Any) -> DeliveryAttempt:
    return DeliveryAttempt.objects.create(job=job, attempt=attempt, **{"duration_ms": 41, **values})
