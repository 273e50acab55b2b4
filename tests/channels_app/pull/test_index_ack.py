"""Acknowledging by index: what is done, and how far everything is."""

from datetime import timedelta

import pytest
from django.utils import timezone

from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus
from channels_app.pull.index import ack as acking
from channels_app.pull.index.ack import AckAboveSent
from tests.channels_app.pull.pollers import Poller, make_poller, publish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def poller() -> Poller:
    """Ten messages, handed out."""
    made = make_poller()
    publish(made.consumer.channel, 12)
    made.poll()
    return made


def test_acked_is_the_highest_index_with_everything_below_it_acknowledged(poller: Poller) -> None:
    poller.ack_up_to(4)

    assert [poller.ack(index).place.acked for index in (7, 5, 6)] == [4, 5, 7]
    assert poller.indexes == (7, 10)


def test_an_acknowledged_job_is_delivered_with_its_attempt(poller: Poller) -> None:
    DeliveryJob.objects.update(received_at=timezone.now() - timedelta(seconds=5))

    assert poller.ack(3).jobs == 1

    job = poller.job(3)
    attempt = DeliveryAttempt.objects.get()
    assert job.status == JobStatus.DELIVERED
    assert (attempt.job_id, attempt.attempt, attempt.ok, attempt.error) == (job.pk, 1, True, "")
    assert 5_000 <= attempt.duration_ms < 60_000


def test_one_that_lasted_for_months_can_be_acknowledged(poller: Poller) -> None:
    DeliveryJob.objects.update(received_at=timezone.now() - timedelta(days=90))

    assert poller.ack(1).place.acked == 1


@pytest.mark.parametrize("index", [0, 2, 4])
def test_again_changes_nothing(poller: Poller, index: int) -> None:
    poller.ack_up_to(4)

    assert poller.ack(index).jobs == poller.ack_up_to(index).jobs == 0
    assert poller.indexes == (4, 10)
    assert DeliveryAttempt.objects.count() == 4


def test_what_was_acknowledged_above_acked_is_not_done_twice(poller: Poller) -> None:
    poller.ack(7)

    assert poller.ack(7).jobs == 0
    assert poller.ack_up_to(8).jobs == 7
    assert DeliveryAttempt.objects.count() == 8


@pytest.mark.parametrize("index", [11, 13, 10**17])
def test_above_sent_is_refused_and_changes_nothing(poller: Poller, index: int) -> None:
    for act in (poller.ack, poller.ack_up_to):
        with pytest.raises(AckAboveSent):
            act(index)

    assert poller.indexes == (0, 10)
    assert not DeliveryAttempt.objects.exists()


def test_everything_at_once_goes_by_batches(poller: Poller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acking, "BATCH", 3)

    acked = poller.ack_up_to(8)

    assert (acked.jobs, acked.place.acked) == (8, 8)


def test_a_job_that_died_meanwhile_does_not_hold_acked_back(poller: Poller) -> None:
    DeliveryJob.objects.filter(message__sequence=2).update(status=JobStatus.DEAD, reason="poison")

    assert poller.ack(1).place.acked == 2
