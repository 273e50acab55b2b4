"""A job that dies leaves a letter, and a letter goes back to the queue."""

import pytest

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Producer
from channels_app.services import expunge
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter, DeadLetterAct, Resolution
from dlq_app.requeue import requeue
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import die, make_dead

pytestmark = pytest.mark.django_db


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def test_a_letter_says_why_by_its_last_attempt(consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer, error="", status_code=503, answer="out of order")

    assert (letter.reason, letter.error, letter.attempts, letter.times) == ("http_5xx", "HTTP 503: out of order", 1, 1)
    assert letter.resolution is None
    assert [act.act for act in DeadLetterAct.objects.all()] == ["entered"]
    assert not counts.check().total


def test_letters_of_one_cause_have_one_fingerprint(consumer: Consumer, producer: Producer) -> None:
    texts = ["no route to 10.0.0.1 for 'a'", "No route to 10.9.8.7 for 'b'", "no way"]
    prints = [make_dead(consumer, producer, error=text).fingerprint for text in texts]

    assert prints[0] == prints[1] != prints[2]


def test_a_channel_that_drops_its_dead_keeps_no_letter(producer: Producer) -> None:
    consumer = make_consumer(make_channel("forgetful", dead_letters="drop"))

    with pytest.raises(DeadLetter.DoesNotExist):
        make_dead(consumer, producer)
    assert DeliveryJob.objects.get().status == JobStatus.DEAD


def test_a_requeued_letter_that_dies_again_is_the_same_letter(consumer: Consumer, producer: Producer) -> None:
    first = make_dead(consumer, producer)

    done = requeue(DeadLetter.objects.all(), by="anna", note="mended", most_times=10)

    job = DeliveryJob.objects.get()
    assert (done.chosen, done.moved, done.work.push) == (1, 1, frozenset({consumer.pk}))
    assert (job.status, job.failures, job.reason, job.attempt) == (JobStatus.QUEUED, 0, None, 1)
    resolved = DeadLetter.objects.get()
    assert (resolved.resolution, resolved.resolved_by, resolved.note) == (Resolution.REQUEUED, "anna", "mended")
    die(job)
    again = DeadLetter.objects.get()
    assert (again.resolution, again.times) == (None, 2)
    assert again.pk > first.pk
    assert [act.act for act in DeadLetterAct.objects.order_by("pk")] == ["entered", "requeued", "entered"]
    assert not counts.check().total


def test_what_cannot_be_sent_any_more_stays(consumer: Consumer, producer: Producer) -> None:
    expunged = make_dead(consumer, producer)
    expunge(message=expunged.message, by="anna")
    often = make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=often.pk).update(times=11)
    polled = make_dead(make_consumer(consumer.channel, "p", type="pull", pull_mode="index"), producer)

    assert requeue(DeadLetter.objects.all(), by="anna", most_times=10).moved == 0
    assert {letter.pk for letter in DeadLetter.objects.open()} == {expunged.pk, often.pk, polled.pk}


def test_a_filter_finds_letters_by_what_they_say_and_survives_being_written_down(
    consumer: Consumer, producer: Producer
) -> None:
    timeout = make_dead(consumer, producer, reason="timeout", error="Timeout after 30 s: gateway")
    make_dead(consumer, producer, reason="dns", error="Name or service not known")

    meant = LetterFilter(consumer_id=consumer.pk, words="GATEWAY timeout", entered_from=timeout.entered_at)

    assert LetterFilter.from_parameters(meant.as_parameters()) == meant
    assert [letter.pk for letter in meant.letters()] == [timeout.pk]
