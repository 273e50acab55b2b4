"""What is told of dead letters: how many are open, what has happened to them, how old the oldest is."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from prometheus_client.core import Metric
from psycopg.conninfo import make_conninfo

from broker_project.api.door_pool import close_door_pool, door_pool, open_door_pool
from broker_project.lib.conditions import Condition
from channels_app import counts
from channels_app.delivery.sweeps import fold_counters
from channels_app.models import Channel, Consumer, DeliveryJob, Producer
from channels_app.services import delete
from dlq_app import policies, retention
from dlq_app.metrics import sources
from dlq_app.models import DeadLetter, Resolution
from dlq_app.requeue import requeue
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import die, make_dead

pytestmark = pytest.mark.django_db(transaction=True)

Samples = dict[tuple[str, ...], float]


@pytest.fixture(autouse=True)
def _door_to_the_tests_database(settings: Any) -> None:
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}
    settings.DATABASE_URL = make_conninfo(**address)


def scraped() -> Samples:
    async def story() -> Sequence[Metric]:
        door_pool.cache_clear()
        await open_door_pool()
        try:
            return await sources.dead_letters()
        finally:
            await close_door_pool()
            door_pool.cache_clear()

    found = [sample for metric in asyncio.run(story()) for sample in metric.samples]
    return {(sample.name.removeprefix("broker_"), *sample.labels.values()): sample.value for sample in found}


def totals() -> Samples:
    return {labels: value for labels, value in scraped().items() if labels[0].endswith("_total")}


def test_open_letters_are_told_by_channel_consumer_and_reason(consumer: Consumer, producer: Producer) -> None:
    for reason in ("timeout", "timeout", "dns"):
        make_dead(consumer, producer, reason=reason)
    make_dead(make_consumer(make_channel("other"), "k"), producer, reason="tls")

    found = scraped()

    assert {labels: value for labels, value in found.items() if labels[0] == "dead_letters"} == {
        ("dead_letters", "orders", "billing", "timeout"): 2,
        ("dead_letters", "orders", "billing", "dns"): 1,
        ("dead_letters", "other", "k", "tls"): 1,
    }


def test_what_has_happened_is_told_by_channel_and_never_falls(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    letters = [make_dead(consumer, producer) for _ in range(4)]
    requeue(DeadLetter.objects.filter(pk=letters[0].pk), by="anna", most_times=10)
    die(DeliveryJob.objects.get(pk=letters[0].job_id))
    for letter, resolution in zip(letters[1:3], (Resolution.DISCARDED, Resolution.EDITED), strict=True):
        DeadLetter.objects.filter(pk=letter.pk).update(resolution=resolution, resolved_at=Now())
    expected = {
        ("dead_letters_entered_total", "orders"): 5,
        ("dead_letters_requeued_total", "orders"): 1,
        ("dead_letters_discarded_total", "orders"): 1,
        ("dead_letters_edited_total", "orders"): 1,
    }
    assert totals() == expected

    fold_counters()
    DeadLetter.objects.update(entered_at=Now() - timedelta(days=8), note="seen")
    policies.put(channel, values={"retention_days": 7}, by="anna")
    assert retention.remove_old() == 4

    assert totals() == expected
    assert not counts.check().total


def test_a_channel_made_anew_goes_on_counting(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    assert scraped() == {}

    make_dead(make_consumer(make_channel("orders")), producer)

    assert totals() == {("dead_letters_entered_total", "orders"): 2}


def test_the_oldest_open_letter_is_told_with_its_age(consumer: Consumer, producer: Producer) -> None:
    oldest = make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=oldest.pk).update(entered_at=Now() - timedelta(hours=2))
    make_dead(consumer, producer)
    age = "oldest_dead_letter_seconds", "orders"
    assert 7200 <= scraped()[age] < 10_000

    requeue(DeadLetter.objects.filter(pk=oldest.pk), by="anna", most_times=10)
    assert scraped()[age] < 3600

    requeue(DeadLetter.objects.all(), by="anna", most_times=10)
    assert age not in scraped()
