"""Two who act on the same letter at once: one wins, and the other finds it resolved."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from broker_project.lib.errors import BrokerError
from channels_app import counts
from channels_app.models import DeliveryJob, JobStatus, Message
from channels_app.services import expunge
from dlq_app.discard import discard
from dlq_app.edit import Content
from dlq_app.errors import MessageExpunged
from dlq_app.models import DeadLetter, DeadLetterAct, Resolution
from dlq_app.requeue import requeue
from dlq_app.services import edit_and_send
from tests.acceptance.servers import wait_until
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import die, make_dead

pytestmark = pytest.mark.django_db(transaction=True)

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def waiting() -> int:
    with connection.cursor() as cursor:
        # Within a transaction the view is looked at once, and remembered.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(_WAITING)
        return int(cursor.fetchone()[0])


def one_after_the_other(*acts: Callable[[], Any]) -> list[int]:
    """All of them have chosen the letter before the first of them gets its job; how many each moved."""
    moved: dict[int, int] = {}

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            moved[place] = act().moved
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place, act)) for place, act in enumerate(acts)]
    with transaction.atomic():
        DeliveryJob.objects.select_for_update().get()
        started: list[threading.Thread] = []
        for thread in threads:
            thread.start()
            started.append(thread)
            wait_until(lambda: waiting() == len(started), 10)
    for thread in threads:
        thread.join()
    return [moved[place] for place in range(len(acts))]


def _discard() -> Any:
    return discard(DeadLetter.objects.all(), by="anna")


def _requeue() -> Any:
    return requeue(DeadLetter.objects.all(), by="bert", most_times=10)


@pytest.mark.parametrize(
    ("first", "second", "resolution", "status"),
    [
        (_discard, _requeue, Resolution.DISCARDED, JobStatus.DEAD),
        (_requeue, _discard, Resolution.REQUEUED, JobStatus.QUEUED),
        (_discard, _discard, Resolution.DISCARDED, JobStatus.DEAD),
        (_requeue, _requeue, Resolution.REQUEUED, JobStatus.QUEUED),
    ],
)
def test_the_first_to_get_a_letter_resolves_it(
    first: Callable[[], Any], second: Callable[[], Any], resolution: Resolution, status: JobStatus
) -> None:
    make_dead(make_consumer(make_channel()), make_producer())

    assert one_after_the_other(first, second) == [1, 0]

    assert DeadLetter.objects.get().resolution == resolution
    assert DeliveryJob.objects.get().status == status
    assert DeadLetterAct.objects.exclude(act="entered").count() == 1
    assert not counts.check().total


def test_an_edit_and_an_expunge_meet_on_the_message_and_none_waits_for_ever() -> None:
    """The one holds the message and wants its jobs, the other must not do it the other way round."""
    letter = make_dead(make_consumer(make_channel()), make_producer())
    held = threading.Event()
    refused: list[BrokerError] = []

    def edit() -> None:
        held.wait(10)
        try:
            edit_and_send(job=letter.job, content=Content(headers={}), by="anna")
        except MessageExpunged as error:
            refused.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=edit)
    thread.start()
    with transaction.atomic():
        message = Message.objects.select_for_update().get()
        held.set()
        wait_until(lambda: waiting() == 1, 10)
        # By then the other would hold the job.
        DeliveryJob.objects.select_for_update(nowait=True).get()
        expunge(message=message, by="bert")
    thread.join()

    assert len(refused) == 1
    assert DeadLetter.objects.open().count() == 1


def test_a_requeue_holds_the_message_so_that_nothing_empty_is_queued() -> None:
    letter = make_dead(make_consumer(make_channel()), make_producer())
    refused: list[BrokerError] = []

    def take_out() -> None:
        try:
            expunge(message=letter.message, by="bert")
        except BrokerError as error:
            refused.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=take_out)
    with transaction.atomic():
        assert _requeue().moved == 1
        thread.start()
        wait_until(lambda: waiting() == 1, 10)
    thread.join()

    assert not refused
    assert DeliveryJob.objects.get().status == JobStatus.DEAD
    assert Message.objects.get().expunged_at


@pytest.mark.parametrize("late", [_requeue, _discard])
def test_a_letter_that_has_entered_anew_meanwhile_is_not_meant(late: Callable[[], Any]) -> None:
    consumer, producer = make_consumer(make_channel()), make_producer()
    first, again = make_dead(consumer, producer), make_dead(consumer, producer)
    moved: list[int] = []

    def act() -> None:
        try:
            moved.append(late().moved)
        finally:
            connection.close()

    def requeue_and_die() -> None:
        try:
            requeue(DeadLetter.objects.filter(pk=again.pk), by="anna", most_times=10)
            die(DeliveryJob.objects.get(pk=again.job_id))
        finally:
            connection.close()

    waits, meanwhile = threading.Thread(target=act), threading.Thread(target=requeue_and_die)
    with transaction.atomic():
        DeliveryJob.objects.select_for_update().get(pk=first.job_id)
        waits.start()
        wait_until(lambda: waiting() == 1, 10)
        meanwhile.start()
        meanwhile.join()
    waits.join()

    assert moved == [1]
    assert DeadLetter.objects.open().get().job_id == again.job_id
