"""Recurring schedules, made for tests."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app.models import Channel, Producer
from scheduling_app import schedules
from scheduling_app.models import RecurringSchedule

# A whole minute, not long ago.
NOW = timezone.now().replace(second=0, microsecond=0)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def make_schedule(channel: Channel, producer: Producer, public_id: str = "report", **values: Any) -> RecurringSchedule:
    """Made at NOW, so that its first tick is after that; every minute, unless said otherwise."""
    times = {} if values.keys() & {"cron", "interval_seconds"} else {"interval_seconds": 60}
    content = {"payload": b"{{tick}}", "content_type": "text/plain", "producer": producer}
    every = {**content, **times, **values}
    return schedules.put(channel=channel, public_id=public_id, values=every, condition=Condition(), now=NOW)[0]
