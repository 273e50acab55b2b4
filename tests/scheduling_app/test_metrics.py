"""What is told of messages for later: by rows, by the index of what is late, and by what workers have counted."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery.signals import task_postrun
from django.conf import settings as configured
from django.db import connection
from django.utils import timezone
from prometheus_client.core import Metric
from psycopg.conninfo import make_conninfo

from broker_project.api.door_pool import close_door_pool, door_pool, open_door_pool
from broker_project.lib.conditions import Condition
from broker_project.lib.tally import ALL, Tally, tally
from channels_app.models import Channel, Producer
from channels_app.services import delete
from scheduling_app import services, tasks
from scheduling_app.dispatch import Lane
from scheduling_app.metrics import activity, sources
from scheduling_app.models import ScheduledStatus
from tests.channels_app.registry import make_channel, make_producer
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
Samples = dict[tuple[str, ...], float]


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


@pytest.fixture(autouse=True)
def _door_to_the_tests_database(settings: Any) -> None:
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}
    settings.DATABASE_URL = make_conninfo(**address)


@pytest.fixture
def counted(redis_client: redis.Redis) -> Tally:
    """What this process had gathered before goes first, and away."""
    while not tally().flush():
        pass
    redis_client.flushdb()
    return tally()


def scraped(read: Callable[[], Awaitable[Sequence[Metric]]]) -> Samples:
    async def story() -> Sequence[Metric]:
        door_pool.cache_clear()
        await open_door_pool()
        try:
            return await read()
        finally:
            await close_door_pool()
            door_pool.cache_clear()

    found = [sample for metric in asyncio.run(story()) for sample in metric.samples]
    return {(sample.name.removeprefix("broker_"), *sample.labels.values()): sample.value for sample in found}


def test_totals_and_what_waits_are_told_by_channel(channel: Channel, producer: Producer) -> None:
    statuses = [100, 100, 100, 101, 101, 102, 103]
    for place, status in enumerate(statuses):
        make_scheduled(channel, producer, f"m-{place}", status=status, partition=place % 3)
    make_scheduled(make_channel("other"), producer, "m")

    assert scraped(sources.scheduled) == {
        ("scheduled_created_total", "orders"): 7,
        ("scheduled_created_total", "other"): 1,
        ("scheduled_dispatched_total", "orders"): 2,
        ("scheduled_cancelled_total", "orders"): 1,
        ("scheduled_set_aside_total", "orders"): 1,
        ("scheduled_waiting", "orders"): 3,
        ("scheduled_waiting", "other"): 1,
    }


def test_a_channel_made_anew_goes_on_counting(channel: Channel, producer: Producer) -> None:
    make_scheduled(channel, producer, "m", status=ScheduledStatus.DISPATCHED)
    delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    assert scraped(sources.scheduled) == {}
    make_scheduled(make_channel("orders"), producer, "m", status=ScheduledStatus.DISPATCHED)
    assert scraped(sources.scheduled)["scheduled_dispatched_total", "orders"] == 2


def test_what_is_late_is_told_with_its_age(channel: Channel, producer: Producer) -> None:
    now = timezone.now()
    for place, hours in enumerate((-1, -3, 5)):
        make_scheduled(channel, producer, f"m-{place}", scheduled_for=now + hours * HOUR, partition=place)
    make_scheduled(make_channel("in-time"), producer, "m")
    make_scheduled(channel, producer, "done", scheduled_for=now - 9 * HOUR, status=ScheduledStatus.CANCELLED)

    found = scraped(sources.overdue)

    assert found.pop(("scheduled_overdue",)) == 2
    assert found.keys() == {("scheduled_oldest_overdue_seconds", "orders")}
    assert 3 * 3600 <= found["scheduled_oldest_overdue_seconds", "orders"] < 4 * 3600


def test_each_dispatched_message_adds_its_lag(channel: Channel, producer: Producer, counted: Tally) -> None:
    for place in range(3):
        make_scheduled(channel, producer, f"m-{place}", scheduled_for=timezone.now() - HOUR / 2)
    services.cancel(message=make_scheduled(channel, producer, "cancelled"), by="tests")

    tasks.dispatch_due(Lane(channel.pk, 0).number)

    assert counted.flush()
    found = scraped(sources.lags)
    assert found["schedule_lag_seconds_bucket", "orders", "900.0"] == 0
    assert found["schedule_lag_seconds_bucket", "orders", "3600.0"] == 3
    assert found["schedule_lag_seconds_count", "orders"] == 3
    assert 3 * 1800 <= found["schedule_lag_seconds_sum", "orders"] < 3 * 3600


def test_runs_that_went_wrong_are_counted_and_the_others_are_not(counted: Tally) -> None:
    for name, state in (
        ("scheduling_app.dispatch_due", "RETRY"),
        ("scheduling_app.dispatch_due", "RETRY"),
        ("scheduling_app.sweep", "FAILURE"),
        ("scheduling_app.sweep", "SUCCESS"),
        ("channels_app.fan_out", "FAILURE"),
    ):
        activity.count_trouble(task=SimpleNamespace(name=name), state=state)

    assert counted.flush()
    assert {labels: value for labels, value in scraped(sources.lags).items() if "errors" in labels[0]} == {
        ("scheduling_errors_total", "dispatch_due", "retried"): 2,
        ("scheduling_errors_total", "sweep", "failed"): 1,
    }


def test_a_run_of_the_sweep_is_counted_with_the_others(counted: Tally, redis_client: redis.Redis) -> None:
    assert "scheduling_app.sweep" in {entry["task"] for entry in configured.CELERY_BEAT_SCHEDULE.values()}
    task_postrun.send(sender=tasks.sweep, task=tasks.sweep, state="SUCCESS")
    assert counted.flush()
    assert redis_client.hgetall(ALL) == {b"sweep_runs|scheduling_app.sweep": b"1"}
