"""Redrive: every letter that a filter means goes back to the queue, once."""

from collections import Counter

import pytest
from django.db import connection
from django.utils import timezone

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Operation, OperationStatus, Producer
from channels_app.operations import acts, runner
from channels_app.services import expunge
from dlq_app import counted, pace, redrive
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter, DeadLetterAct
from dlq_app.redrive import Redrive
from tests.channels_app.messages import nodes_of, plan_of
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import die, make_dead
from tests.dlq_app.operations import Hand, cut_off, ran, with_clock

pytestmark = pytest.mark.django_db

EVERYTHING = LetterFilter()


def make_many(consumer: Consumer, producer: Producer, number: int) -> list[DeadLetter]:
    return [make_dead(consumer, producer) for _ in range(number)]


def queued_again() -> Counter[int]:
    """By job: how often."""
    return Counter(DeadLetterAct.objects.filter(act="requeued").values_list("job_id", flat=True))


def test_letters_that_the_filter_means_go_back_and_no_others(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    meant = make_many(consumer, producer, 3)
    others = [
        make_dead(consumer, producer, reason="timeout"),
        make_dead(make_consumer(channel, "other"), producer),
        make_dead(make_consumer(make_channel("another")), producer),
    ]
    chosen = LetterFilter(channel_id=channel.pk, consumer_id=consumer.pk, reason="http_5xx")

    operation = ran(redrive.begin(chosen=chosen, by="anna", note="mended"))

    assert (operation.status, operation.total, operation.done, operation.failed) == (OperationStatus.DONE, 3, 3, 0)
    assert (operation.channel, operation.asked_by) == (channel, "anna")
    assert queued_again() == Counter(letter.job_id for letter in meant)
    assert {letter.pk for letter in DeadLetter.objects.open()} == {letter.pk for letter in others}
    assert set(DeadLetterAct.objects.filter(act="requeued").values_list("by", "note")) == {("anna", "mended")}
    assert not counts.check().total


def test_a_filter_that_counters_do_not_know_is_counted_by_its_letters(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer, error="no route to 10.0.0.1")
    make_dead(consumer, producer, error="out of order")

    assert redrive.count(LetterFilter(words="route")).number == 1
    operation = ran(redrive.begin(chosen=LetterFilter(words="route"), by="anna"))
    assert (operation.total, operation.done) == (1, 1)
    assert DeadLetter.objects.open().get().error == "out of order"


def test_what_is_too_much_to_count_is_said_to_be_so(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "MOST_COUNTED", 2)
    make_many(consumer, producer, 3)
    chosen = LetterFilter(words="503")

    assert redrive.count(chosen) == counted.Counted(2, is_exact=False)
    operation = ran(redrive.begin(chosen=chosen, by="anna"))
    assert (operation.total, operation.done) == (None, 3)


def test_what_cannot_be_sent_any_more_has_failed(consumer: Consumer, producer: Producer) -> None:
    expunged, often, well = make_many(consumer, producer, 3)
    expunge(message=expunged.message, by="anna")
    DeadLetter.objects.filter(pk=often.pk).update(times=11)

    operation = ran(redrive.begin(chosen=EVERYTHING, by="anna"))

    assert (operation.done, operation.failed) == (1, 2)
    assert queued_again() == {well.job_id: 1}
    assert not counts.check().total


def test_a_letter_is_queued_again_ten_times_and_no_more(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)

    done = []
    for _ in range(11):
        done.append(ran(redrive.begin(chosen=EVERYTHING, by="anna")).done)
        for job in DeliveryJob.objects.filter(status=JobStatus.QUEUED):
            die(job)

    assert done == [1] * 10 + [0]


def test_a_letter_that_dies_again_meanwhile_is_not_queued_again(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MOST", 2)
    make_many(consumer, producer, 5)
    operation = redrive.begin(chosen=EVERYTHING, by="anna")

    while runner.run_step(operation.pk):
        for job in DeliveryJob.objects.filter(status=JobStatus.QUEUED):
            die(job)

    assert ran(operation).done == 5
    assert set(queued_again().values()) == {1}
    assert not counts.check().total


def test_it_is_stopped_between_two_batches_and_goes_on_there(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MOST", 2)
    make_many(consumer, producer, 5)
    operation = redrive.begin(chosen=EVERYTHING, by="anna")
    runner.run_step(operation.pk)

    acts.stop(operation=operation, by="anna")
    assert (ran(operation).status, operation.done) == (OperationStatus.STOPPED, 2)
    acts.resume(operation=operation, by="bert")

    assert (ran(operation).status, operation.done) == (OperationStatus.DONE, 5)
    assert sorted(queued_again().values()) == [1] * 5


def test_a_batch_that_was_cut_off_is_done_again_and_none_twice(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the worker were killed between the rows and the commit."""
    monkeypatch.setattr(pace, "MOST", 2)
    make_many(consumer, producer, 5)
    operation = redrive.begin(chosen=EVERYTHING, by="anna")
    runner.run_step(operation.pk)
    cut_off(operation)
    operation.refresh_from_db()
    assert (operation.done, sum(queued_again().values())) == (2, 2)

    assert ran(operation).done == 5
    assert sorted(queued_again().values()) == [1] * 5
    assert not counts.check().total


def test_its_consumers_are_rung_for_after_the_commit(
    consumer: Consumer, producer: Producer, django_capture_on_commit_callbacks: object
) -> None:
    make_dead(consumer, producer)
    operation = redrive.begin(chosen=EVERYTHING, by="anna")

    with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
        runner.run_step(operation.pk)

    [ring] = callbacks
    assert ring.args[0].push == {consumer.pk}


def test_a_filter_that_finds_little_ends_its_steps_all_the_same(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "MOST_LOOKED_AT", 2)
    make_many(consumer, producer, 5)
    timeout = make_dead(consumer, producer, reason="timeout")
    operation = redrive.begin(chosen=LetterFilter(reason="timeout"), by="anna")

    assert runner.run_step(operation.pk)
    assert Operation.objects.get().done == 0
    assert ran(operation).done == 1
    assert queued_again() == {timeout.job_id: 1}


def test_no_more_than_the_rate_allows_and_what_was_slept_through_is_not_made_up_for(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Hand(timezone.now())
    with_clock(monkeypatch, Redrive(clock))
    make_many(consumer, producer, 12)
    operation = redrive.begin(chosen=EVERYTHING, by="anna", per_second=5)

    assert runner.run(operation.pk, seconds=20) == pytest.approx(0.2)
    done = [ran(operation).done]
    for seconds in (0.0, 0.2, 0.1, 0.1, 1.0, 3600.0, 0.2):
        clock.move(seconds)
        done.append(ran(operation).done)

    assert done == [1, 1, 2, 2, 3, 5, 7, 8]
    for _ in range(20):
        clock.move(0.2)
        ran(operation)
    assert (operation.status, operation.done) == (OperationStatus.DONE, 12)


def test_a_step_finds_its_letters_by_an_index(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    letters = LetterFilter(consumer_id=consumer.pk).letters().filter(pk__gt=0, pk__lte=10).order_by("pk")

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    names = {node.get("Index Name") for node in nodes_of(plan_of(str(letters.values("pk").query)))}

    assert "letter_by_consumer" in names
