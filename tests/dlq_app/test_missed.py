"""Deliver what was missed: messages for which a consumer has no job get one, once."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from channels_app import counts
from channels_app.models import (
    Channel,
    Consumer,
    ConsumerState,
    DeliveryJob,
    JobStatus,
    Message,
    Operation,
    OperationStatus,
)
from channels_app.operations import acts, runner
from channels_app.services import expunge
from dlq_app import pace
from dlq_app.edit import Content
from dlq_app.missed import MISSED, DeliverMissed
from dlq_app.services import edit_and_send
from dlq_app.walk import Stretch
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.operations.test_runner import in_threads
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import die
from tests.dlq_app.operations import Hand, cut_off, ran, with_clock

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALWAYS = Stretch(NOON - timedelta(days=1))


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def begin(consumer: Consumer, stretch: Stretch = ALWAYS, per_second: float | None = None) -> Operation:
    return MISSED.begin(consumer, stretch, by="anna", note="", per_second=per_second)


def got(consumer: Consumer) -> list[str]:
    return list(
        DeliveryJob.objects.filter(consumer=consumer).order_by("pk").values_list("message__message_id", flat=True)
    )


@pytest.fixture
def late(channel: Channel, consumer: Consumer) -> Consumer:
    """Registered when five messages had gone to another; it got the sixth."""
    for number in range(5):
        make_messages(channel, f"m{number}", received_at=at(number), priority=number, partition=1)
    dispatch(channel)
    late = make_consumer(channel, "late")
    make_messages(channel, "m5", received_at=at(5))
    dispatch(channel)
    return late


def test_a_consumer_registered_late_gets_what_came_before(channel: Channel, late: Consumer) -> None:
    make_messages(make_channel("another"), "elsewhere", status=101)
    counted, shown = MISSED.count(late, ALWAYS), MISSED.sample(late, ALWAYS)
    assert (counted.number, counted.is_exact) == (5, True)
    assert [sample.message_id for sample in shown] == ["m0", "m1", "m2", "m3", "m4"]
    assert got(late) == ["m5"]

    operation = ran(begin(late))

    assert (operation.status, operation.total, operation.done, operation.failed) == (OperationStatus.DONE, 5, 5, 0)
    assert got(late) == ["m5", "m0", "m1", "m2", "m3", "m4"]
    job = DeliveryJob.objects.get(consumer=late, message__message_id="m3")
    assert (job.status, job.priority, job.partition, job.attempt) == (JobStatus.QUEUED, 3, 1, 0)
    assert job.expires_at > timezone.now()
    assert ran(begin(late)).done == 0
    assert not counts.check().total


def test_only_what_came_between_the_two_moments(late: Consumer) -> None:
    assert ran(begin(late, Stretch(at(1), at(3)))).done == 2
    assert got(late) == ["m5", "m1", "m2"]


def test_a_consumer_that_was_disabled_gets_what_came_meanwhile(channel: Channel, consumer: Consumer) -> None:
    state = ConsumerState.objects.filter(pk=consumer.pk)
    state.update(disabled_at=timezone.now(), disabled_reason="gone")
    make_messages(channel, "a", "b")
    dispatch(channel)
    state.resume()
    assert got(consumer) == []

    ran(begin(consumer))

    assert got(consumer) == ["a", "b"]


def test_what_waits_for_fan_out_or_was_expunged_is_not_missed(channel: Channel, late: Consumer) -> None:
    make_messages(channel, "waits")
    expunge(message=Message.objects.get(message_id="m0"), by="anna")

    assert ran(begin(late)).done == 4
    dispatch(channel)
    assert got(late) == ["m5", "m1", "m2", "m3", "m4", "waits"]


def test_it_is_stopped_and_goes_on_and_a_batch_cut_off_is_done_again(
    late: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MOST", 2)
    operation = begin(late)
    runner.run_step(operation.pk)
    cut_off(operation)
    acts.stop(operation=operation, by="anna")
    assert (ran(operation).status, operation.done) == (OperationStatus.STOPPED, 2)

    acts.resume(operation=operation, by="anna")

    assert (ran(operation).status, operation.done) == (OperationStatus.DONE, 5)
    assert sorted(got(late)) == ["m0", "m1", "m2", "m3", "m4", "m5"]
    assert not counts.check().total


def test_a_rate_is_kept(late: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand(timezone.now())
    with_clock(monkeypatch, DeliverMissed(clock))
    operation = begin(late, per_second=10)

    done = [ran(operation).done]
    for seconds in (0.1, 0.1, 0.2):
        clock.move(seconds)
        done.append(ran(operation).done)

    assert done == [2, 3, 4, 5]


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_one_job_for_each(late: Consumer) -> None:
    first, second = begin(late), begin(late)
    runs = iter([first, second])

    in_threads(2, lambda: runner.run(next(runs).pk, seconds=20))

    assert ran(first).done + ran(second).done == 5
    assert sorted(got(late)) == ["m0", "m1", "m2", "m3", "m4", "m5"]


def test_a_letter_that_was_edited_for_another_is_missed_by_nobody(channel: Channel, consumer: Consumer) -> None:
    make_messages(channel, "m0", received_at=at(0))
    dispatch(channel)
    job = DeliveryJob.objects.get()
    die(job)
    edit_and_send(job=job, content=Content(payload=b"for one only"), by="anna")
    late = make_consumer(channel, "late")

    assert ran(begin(late)).done == 1
    assert got(late) == ["m0"]
