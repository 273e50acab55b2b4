"""Messages for later, made for tests."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from channels_app.models import Channel, MessageKey, Producer
from scheduling_app.models import ScheduledMessage


def make_scheduled(channel: Channel, producer: Producer, message_id: str, **values: Any) -> ScheduledMessage:
    """Due in an hour, unless said otherwise; with its key, as the door stores it."""
    at: datetime = values.pop("scheduled_for", timezone.now() + timedelta(hours=1))
    defaults: dict[str, Any] = {"payload": b"x", "content_type": "text/plain", "due_at": at}
    row = ScheduledMessage.objects.create(
        channel=channel, producer=producer, message_id=message_id, scheduled_for=at, **{**defaults, **values}
    )
    MessageKey.objects.create(channel_id=channel.pk, message_id=message_id, row_id=row.pk, scheduled=True)
    return row
