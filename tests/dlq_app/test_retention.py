"""Letters go when they are older than their channel wants them kept."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Producer
from dlq_app import policies, retention
from dlq_app.models import DeadLetter, DeadLetterAct
from dlq_app.requeue import requeue
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import make_dead

pytestmark = pytest.mark.django_db


def make_old(consumer: Consumer, producer: Producer, *, days: float) -> DeadLetter:
    letter = make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=letter.pk).update(entered_at=Now() - timedelta(days=days))
    return letter


def kept() -> set[int]:
    return set(DeadLetter.objects.values_list("pk", flat=True))


def test_an_old_letter_goes_with_its_history_and_its_job_stays_dead(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    policies.put(channel, values={"retention_days": 7}, by="anna")
    make_old(consumer, producer, days=8)
    young = make_old(consumer, producer, days=6)

    assert retention.remove_old() == 1

    assert kept() == {young.pk}
    assert [act.job_id for act in DeadLetterAct.objects.all()] == [young.job_id]
    assert set(DeliveryJob.objects.values_list("status", flat=True)) == {JobStatus.DEAD}
    assert not counts.check().total


def test_resolved_letters_go_too(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    policies.put(channel, values={"retention_days": 7}, by="anna")
    make_old(consumer, producer, days=8)
    requeue(DeadLetter.objects.all(), by="anna", most_times=10)
    DeliveryJob.objects.update(status=JobStatus.DELIVERED)

    assert retention.remove_old() == 1
    assert kept() == set()
    assert not counts.check().total


def test_a_letter_whose_job_is_on_its_way_again_stays(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    policies.put(channel, values={"retention_days": 7}, by="anna")
    letter = make_old(consumer, producer, days=8)
    requeue(DeadLetter.objects.all(), by="anna", most_times=10)

    assert retention.remove_old() == 0
    assert kept() == {letter.pk}


def test_letters_are_kept_where_nobody_says_otherwise(consumer: Consumer, producer: Producer) -> None:
    letter = make_old(consumer, producer, days=3650)

    assert retention.remove_old() == 0
    assert kept() == {letter.pk}


def test_the_default_is_for_channels_that_say_nothing(
    channel: Channel, consumer: Consumer, producer: Producer, settings: Any
) -> None:
    settings.DEAD_LETTER_RETENTION_DAYS = 7
    policies.put(channel, values={"retention_days": 30}, by="anna")
    letter = make_old(consumer, producer, days=8)
    make_old(make_consumer(make_channel("silent")), producer, days=8)

    assert retention.remove_old() == 1
    assert kept() == {letter.pk}


def test_it_goes_on_batch_by_batch(
    channel: Channel, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST", 2)
    policies.put(channel, values={"retention_days": 7}, by="anna")
    for _ in range(5):
        make_old(consumer, producer, days=8)

    assert retention.remove_old() == 5
