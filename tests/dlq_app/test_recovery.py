"""A consumer that recovers gets the letters of its trouble, if its channel wants that."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from channels_app import services
from channels_app.delivery.standing import count_tries
from channels_app.models import Channel, Consumer, ConsumerState, DeliveryJob, JobStatus, Producer
from dlq_app import policies, recovery
from dlq_app.models import DeadLetter, DeadLetterAct, DeadLetterRecovery
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.registry import make_consumer
from tests.dlq_app.letters import die, make_dead

# Each statement has its own time: letters enter before a consumer recovers, or after.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def willing(channel: Channel) -> None:
    policies.put(channel, values={"auto_redrive": True}, by="anna")


def queued() -> set[int]:
    return set(DeliveryJob.objects.filter(status=JobStatus.QUEUED).values_list("pk", flat=True))


def open_breaker(consumer: Consumer) -> None:
    ConsumerState.objects.filter(consumer=consumer).update(
        streak=50, breaker_opened_at=Now(), breaker_until=Now() + timedelta(seconds=30)
    )


@pytest.mark.usefixtures("willing")
def test_letters_of_the_trouble_go_back_when_the_consumer_is_resumed(consumer: Consumer, producer: Producer) -> None:
    before = make_dead(consumer, producer, reason="refused")
    services.pause(consumer)
    during = make_dead(consumer, producer, reason="timeout")
    assert recovery.redrive_recovered()[0] == 0

    services.resume(consumer)
    moved, work = recovery.redrive_recovered()

    assert (moved, set(work.push)) == (2, {consumer.pk})
    assert queued() == {before.job_id, during.job_id}
    assert set(DeadLetterAct.objects.filter(act="requeued").values_list("by", flat=True)) == {recovery.BY}
    assert not DeadLetterRecovery.objects.exists()


@pytest.mark.usefixtures("willing")
def test_letters_go_back_when_the_breaker_closes(consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    open_breaker(consumer)

    on_a_loop(lambda own: count_tries(own, {consumer.pk: [(letter.job_id + 1, True)]}))

    assert recovery.redrive_recovered()[0] == 1
    assert queued() == {letter.job_id}


def test_nothing_goes_back_by_itself_unless_the_channel_says_so(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    services.pause(consumer)
    services.resume(consumer)

    assert recovery.redrive_recovered()[0] == 0
    assert not DeadLetterRecovery.objects.exists()


@pytest.mark.usefixtures("willing")
def test_what_does_not_speak_of_the_consumer_stays(consumer: Consumer, producer: Producer) -> None:
    for reason in ("http_4xx", "nacked", "poison", "expired"):
        make_dead(consumer, producer, reason=reason)
    other = make_consumer(consumer.channel, "other")
    make_dead(other, producer)
    long_ago = make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=long_ago.pk).update(entered_at=Now() - timedelta(hours=1))
    services.pause(consumer)
    services.resume(consumer)

    assert recovery.redrive_recovered()[0] == 0
    assert not DeadLetterRecovery.objects.exists()


@pytest.mark.usefixtures("willing")
def test_a_letter_that_dies_again_is_not_sent_a_second_time_for_one_recovery(
    consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "MOST_A_SWEEP", 1)
    first, second = make_dead(consumer, producer), make_dead(consumer, producer)
    services.pause(consumer)
    services.resume(consumer)

    assert recovery.redrive_recovered()[0] == 1
    assert queued() == {first.job_id}
    die(DeliveryJob.objects.get(pk=first.job_id))
    assert recovery.redrive_recovered()[0] == 1
    assert queued() == {second.job_id}
    assert recovery.redrive_recovered()[0] == 0
    assert not DeadLetterRecovery.objects.exists()


@pytest.mark.usefixtures("willing")
def test_the_rest_waits_while_the_consumer_is_stopped_again(consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    services.pause(consumer)
    services.resume(consumer)
    open_breaker(consumer)
    assert recovery.redrive_recovered()[0] == 0

    services.resume(consumer)

    assert recovery.redrive_recovered()[0] == 1
    assert queued() == {letter.job_id}


@pytest.mark.usefixtures("willing")
def test_a_recovery_that_nobody_could_follow_for_a_day_is_forgotten(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    services.pause(consumer)
    services.resume(consumer)
    DeadLetterRecovery.objects.update(recovered_at=Now() - timedelta(days=2))

    assert recovery.redrive_recovered()[0] == 0
    assert not DeadLetterRecovery.objects.exists()


def test_a_consumer_at_work_notes_no_recovery(consumer: Consumer) -> None:
    policies.put(consumer.channel, values={"auto_redrive": True}, by="anna")
    on_a_loop(lambda own: count_tries(own, {consumer.pk: [(1, False), (1, True)]}))

    assert not DeadLetterRecovery.objects.exists()
