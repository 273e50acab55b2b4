"""Replay: what a consumer got between two moments is sent to it again, once."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Operation, OperationStatus, Producer
from channels_app.operations import acts, runner
from channels_app.services import expunge
from dlq_app import pace, walk
from dlq_app.replay import REPLAY, Replay
from dlq_app.walk import Stretch
from tests.channels_app.registry import make_consumer
from tests.dlq_app.delivered import deliver, make_delivered
from tests.dlq_app.letters import die, make_dead
from tests.dlq_app.operations import Hand, cut_off, ran, with_clock

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def begin(consumer: Consumer, stretch: Stretch, per_second: float | None = None) -> Operation:
    return REPLAY.begin(consumer, stretch, by="anna", note="again", per_second=per_second)


def queued() -> set[int]:
    return set(DeliveryJob.objects.filter(status=JobStatus.QUEUED).values_list("pk", flat=True))


def test_what_was_delivered_in_that_time_is_queued_again_and_nothing_else(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    before, first, second, after = (make_delivered(consumer, producer, at(m)) for m in (0, 10, 19.9, 20))
    make_delivered(make_consumer(channel, "other"), producer, at(15))
    make_dead(consumer, producer)
    stretch = Stretch(at(10), at(20))
    counted, shown = REPLAY.count(consumer, stretch), REPLAY.sample(consumer, stretch)
    assert (counted.number, counted.is_exact) == (2, True)
    assert [sample.message_id for sample in shown] == [first.message.message_id, second.message.message_id]
    assert queued() == set()

    operation = ran(begin(consumer, stretch))

    assert (operation.status, operation.total, operation.done, operation.failed) == (OperationStatus.DONE, 2, 2, 0)
    assert queued() == {first.pk, second.pk}
    for job in (before, after):
        job.refresh_from_db()
        assert job.status == JobStatus.DELIVERED
    assert not counts.check().total


def test_the_job_is_the_same_with_its_budget_and_its_time_anew(consumer: Consumer, producer: Producer) -> None:
    job = make_delivered(consumer, producer, at(10), failures=3, expires_at=at(0))

    ran(begin(consumer, Stretch(at(0), at(20))))

    job.refresh_from_db()
    assert (job.status, job.attempt, job.failures) == (JobStatus.QUEUED, 1, 0)
    assert job.expires_at > timezone.now()


def test_a_message_much_older_than_its_delivery_is_found(consumer: Consumer, producer: Producer) -> None:
    """As one that was dead for a month."""
    letter = make_dead(consumer, producer, finished_at=at(-1))
    for _ in range(3):
        make_delivered(consumer, producer, at(0))
    job = DeliveryJob.objects.get(pk=letter.job_id)
    DeliveryJob.objects.filter(pk=job.pk).update(attempt=2)
    job.refresh_from_db()
    deliver(job, at(60 * 24 * 30))

    ran(begin(consumer, Stretch(at(60 * 24 * 29), at(60 * 24 * 31))))

    assert queued() == {job.pk}


def test_what_is_delivered_again_meanwhile_is_not_sent_a_third_time(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the stretch reaches into the time of the operation."""
    monkeypatch.setattr(pace, "MOST", 2)
    monkeypatch.setattr(walk, "LEAST_LOOKED_AT", 2)
    jobs = [make_delivered(consumer, producer, at(number)) for number in range(5)]
    operation = begin(consumer, Stretch(at(0), timezone.now() + timedelta(days=1)))

    while runner.run_step(operation.pk):
        for job in DeliveryJob.objects.filter(status=JobStatus.QUEUED):
            DeliveryJob.objects.filter(pk=job.pk).update(attempt=job.attempt + 1)
            job.refresh_from_db()
            deliver(job, timezone.now())

    assert ran(operation).done == len(jobs)
    assert set(DeliveryJob.objects.values_list("attempt", flat=True)) <= {1, 2}
    assert not counts.check().total


def test_an_expunged_message_has_failed(consumer: Consumer, producer: Producer) -> None:
    expunged, well = (make_delivered(consumer, producer, at(m)) for m in (1, 2))
    expunge(message=expunged.message, by="anna")

    operation = ran(begin(consumer, Stretch(at(0), at(20))))

    assert (operation.done, operation.failed, queued()) == (1, 1, {well.pk})


def test_nothing_goes_to_a_consumer_that_was_deleted_meanwhile(consumer: Consumer, producer: Producer) -> None:
    make_delivered(consumer, producer, at(1))
    operation = begin(consumer, Stretch(at(0), at(20)))
    Consumer.objects.filter(pk=consumer.pk).update(deleted_at=timezone.now())

    assert (ran(operation).done, operation.failed, queued()) == (0, 1, set())


def test_it_is_stopped_and_goes_on_and_a_batch_cut_off_is_done_again(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MOST", 2)
    jobs = [make_delivered(consumer, producer, at(number)) for number in range(5)]
    operation = begin(consumer, Stretch(at(0), at(20)))
    runner.run_step(operation.pk)
    cut_off(operation)
    acts.stop(operation=operation, by="anna")
    assert (ran(operation).status, operation.done, len(queued())) == (OperationStatus.STOPPED, 2, 2)

    acts.resume(operation=operation, by="anna")

    assert (ran(operation).done, queued()) == (5, {job.pk for job in jobs})
    assert not counts.check().total


def test_a_rate_is_kept(consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand(timezone.now())
    with_clock(monkeypatch, Replay(clock))
    for number in range(6):
        make_delivered(consumer, producer, at(number))
    operation = begin(consumer, Stretch(at(0), at(20)), per_second=10)

    done = [ran(operation).done]
    for seconds in (0.1, 0.1, 0.2):
        clock.move(seconds)
        done.append(ran(operation).done)

    assert done == [2, 3, 4, 6]


def test_the_walk_begins_near_its_time_and_ends_there(consumer: Consumer, producer: Producer) -> None:
    for number in range(40):
        make_delivered(consumer, producer, at(number * 5))

    operation = begin(consumer, Stretch(at(50), at(60)))

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM delivery_attempt WHERE id > %s AND id <= %s",
            [operation.parameters["after"], operation.until],
        )
        assert cursor.fetchone() == (3,)
    assert ran(operation).done == 2


def test_nobody_ever_got_anything(consumer: Consumer) -> None:
    operation = ran(begin(consumer, Stretch(at(0), at(20))))

    assert (operation.status, operation.total, operation.done) == (OperationStatus.DONE, 0, 0)


def test_a_replayed_job_that_dies_is_a_letter(consumer: Consumer, producer: Producer) -> None:
    job = make_delivered(consumer, producer, at(1))
    ran(begin(consumer, Stretch(at(0), at(20))))

    die(job)

    assert not counts.check().total
    assert ran(begin(consumer, Stretch(at(0), at(20)))).done == 0
