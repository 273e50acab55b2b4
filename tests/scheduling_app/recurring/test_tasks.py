"""The task: it ticks what is due, and rings for what comes of it and for what comes next."""

import time
from datetime import timedelta

import pytest
import redis
from django.db.models.functions import Now

from scheduling_app import tasks
from scheduling_app.bells import TICK, dispatch_bell, ring_dispatch
from scheduling_app.dispatch import Lane
from scheduling_app.models import RecurringSchedule, ScheduledMessage
from tests.acceptance.servers import wait_until
from tests.channels_app.registry import make_channel, make_producer
from tests.scheduling_app.recurring.schedules import make_schedule

# PostgreSQL's clock stands still within a transaction.
pytestmark = pytest.mark.django_db(transaction=True)


def rung(client: redis.Redis, task: str) -> list[float]:
    """When the bells of a task that hang in Redis are due."""
    return [float(key.decode().rsplit(":", 1)[1]) for key in client.keys(f"doorbell:{task}:*")]  # type: ignore[union-attr]


def test_what_is_due_is_made_and_its_lane_and_the_next_tick_are_rung_for(redis_client: redis.Redis) -> None:
    channel = make_channel()
    schedule = make_schedule(channel, make_producer(), interval_seconds=4)
    RecurringSchedule.objects.update(start_at=Now() - timedelta(seconds=1), next_at=Now() - timedelta(seconds=1))

    tasks.tick()

    assert ScheduledMessage.objects.count() == 1
    wait_until(lambda: bool(redis_client.exists(dispatch_bell(Lane(channel.pk, 0)).key)), 10)
    schedule.refresh_from_db()
    assert schedule.next_at
    due = schedule.next_at.timestamp()
    wait_until(lambda: any(due <= bell <= due + 0.1 for bell in rung(redis_client, TICK.task)), 10)


def test_a_tick_after_the_next_sweep_but_one_is_left_to_the_sweep(redis_client: redis.Redis) -> None:
    channel = make_channel()
    make_schedule(channel, make_producer(), interval_seconds=3600)
    RecurringSchedule.objects.update(next_at=Now() + timedelta(hours=1))

    tasks.tick()

    # Bells are hung in the order in which they were rung.
    after = Lane(channel.pk, 1)
    ring_dispatch(after, 0)
    wait_until(lambda: bool(redis_client.exists(dispatch_bell(after).key)), 10)
    assert not [bell for bell in rung(redis_client, TICK.task) if bell > time.time() + 60]
    assert not ScheduledMessage.objects.exists()
