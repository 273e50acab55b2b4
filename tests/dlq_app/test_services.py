"""Acts on dead letters: what goes, what stays, and what is remembered of it."""

import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from channels_app import counts
from channels_app.models import Consumer, DeliveryJob, JobStatus, Producer
from channels_app.operations import runner
from dlq_app import selectors, services
from dlq_app.causes import causes
from dlq_app.discard import discard
from dlq_app.errors import AlreadyResolved, NotDead
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter, DeadLetterAct, Resolution
from dlq_app.requeue import requeue
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import die, make_dead

pytestmark = pytest.mark.django_db


def test_all_letters_of_a_consumer_go_in_batches_and_others_stay(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST", 2)
    for _ in range(5):
        make_dead(consumer, producer)
    stuck = make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=stuck.pk).update(times=11)
    other = make_dead(make_consumer(consumer.channel, "other"), producer)

    acted = services.requeue_all(chosen=LetterFilter(consumer_id=consumer.pk), by="anna", note="mended")

    assert (acted.moved, acted.left, acted.is_complete) == (5, 1, True)
    assert {letter.pk for letter in DeadLetter.objects.open()} == {stuck.pk, other.pk}
    assert DeliveryJob.objects.filter(status=JobStatus.QUEUED).count() == 5
    assert DeadLetterAct.objects.filter(act="requeued", by="anna", note="mended").count() == 5
    assert not counts.check().total


def test_when_time_runs_out_an_operation_looks_at_the_rest(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dead(consumer, producer)
    monkeypatch.setattr(services, "MOST_SECONDS", -1.0)

    acted = services.requeue_all(chosen=LetterFilter(consumer_id=consumer.pk), by="anna")

    assert (acted.moved, acted.is_complete) == (0, False)
    assert acted.rest is not None
    runner.run(acted.rest.pk, seconds=5)
    assert DeadLetter.objects.open().count() == 0
    assert DeadLetterAct.objects.get(act="requeued").by == "anna"


def test_a_discarded_letter_leaves_lists_and_counts_and_its_job_stays_dead(
    consumer: Consumer, producer: Producer
) -> None:
    letter = make_dead(consumer, producer)

    with capture_logs() as logs:
        services.discard_job(job=letter.job, by="anna", note="not wanted")

    letter.refresh_from_db()
    assert (letter.resolution, letter.resolved_by, letter.note) == (Resolution.DISCARDED, "anna", "not wanted")
    assert DeliveryJob.objects.get().status == JobStatus.DEAD
    assert selectors.letter_counts() == {}
    assert [(act.act, act.by) for act in DeadLetterAct.objects.order_by("pk")] == [
        ("entered", ""),
        ("discarded", "anna"),
    ]
    assert next(line for line in logs if line["event"] == "dead_letter.discarded")["by"] == "anna"
    assert not counts.check().total


def test_a_letter_is_discarded_once(consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    discard(DeadLetter.objects.all(), by="anna")

    with pytest.raises(AlreadyResolved, match="discarded already"):
        services.discard_job(job=letter.job, by="bert")
    with pytest.raises(AlreadyResolved, match="discarded already"):
        services.requeue_job(job=letter.job, by="bert")
    assert DeadLetterAct.objects.exclude(act="entered").count() == 1


def test_a_job_that_is_not_dead_is_neither_requeued_nor_discarded(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer)

    for act in (services.requeue_job, services.discard_job):
        with pytest.raises(NotDead):
            act(job=job, by="anna")
    assert DeliveryJob.objects.get().status == JobStatus.QUEUED


def test_counters_are_right_at_each_step_of_a_letters_life(consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    assert selectors.letter_counts() == {"orders": {"billing": 1}}

    services.requeue_job(job=letter.job, by="anna")
    assert selectors.letter_counts() == {}

    die(DeliveryJob.objects.get())
    assert selectors.letter_counts() == {"orders": {"billing": 1}}

    services.discard_jobs(job_ids=[letter.job_id], by="anna")
    assert selectors.letter_counts() == {}
    assert not counts.check().total


def test_what_died_again_meanwhile_is_left_to_nobody_s_rest(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time runs out after the first, which has died again when the operation begins."""
    for _ in range(3):
        make_dead(consumer, producer)
    monkeypatch.setattr(services, "MOST", 1)

    def until_time_is_over(*letters: Any, **asked: Any) -> Any:
        done = requeue(*letters, **asked)
        monkeypatch.setattr(services, "requeue", requeue)
        die(DeliveryJob.objects.get(status=JobStatus.QUEUED))
        clock.append(services.MOST_SECONDS + 1)
        return done

    clock = [0.0]
    monkeypatch.setattr(services, "requeue", until_time_is_over)
    monkeypatch.setattr(time, "monotonic", lambda: clock[-1])
    acted = services.requeue_all(chosen=LetterFilter(consumer_id=consumer.pk), by="anna")
    monkeypatch.undo()
    assert acted.rest is not None
    runner.run(acted.rest.pk, seconds=5)

    requeued = DeadLetterAct.objects.filter(act="requeued").values_list("job_id", flat=True)
    assert (len(requeued), len(set(requeued))) == (3, 3)


def test_causes_are_grouped_by_fingerprint_the_most_frequent_first(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer, reason="dns", error="Name or service not known")
    for number in range(3):
        make_dead(consumer, producer, reason="timeout", error=f"Timeout after {number} s")
    make_dead(make_consumer(make_channel("elsewhere")), producer)

    found = causes(LetterFilter(channel_id=consumer.channel_id))

    assert [(cause.reason, cause.error, cause.count) for cause in found.found] == [
        ("timeout", "Timeout after 2 s", 3),
        ("dns", "Name or service not known", 1),
    ]
    assert (found.looked_at, found.is_complete) == (4, True)
