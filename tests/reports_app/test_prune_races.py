"""Somebody acts on a message that is about to be pruned: one of them wins, and nothing is half gone."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from broker_project.lib.errors import BrokerError
from broker_project.lib.pg_lock import only_one
from channels_app import counts
from channels_app.errors import MessagePruned
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message, MessageKey
from channels_app.operations import runner
from channels_app.services import expunge
from dlq_app import policies
from dlq_app.edit import Content
from dlq_app.errors import UnknownLetter
from dlq_app.missed import MISSED
from dlq_app.models import DeadLetter
from dlq_app.replay import REPLAY
from dlq_app.requeue import requeue
from dlq_app.retention import remove_old
from dlq_app.services import edit_and_send
from dlq_app.walk import Stretch
from reports_app.models import LakeMark
from reports_app.prune import messages, sweep
from reports_app.prune.messages import Wanted
from tests.acceptance.servers import wait_until
from tests.channels_app.delivery.test_accept import incoming, stored
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.test_races import waiting
from tests.reports_app.lake import export, make_old, make_old_dead, rows_left

pytestmark = pytest.mark.django_db(transaction=True)

EVER = Stretch(timezone.now() - timedelta(days=400))


@pytest.fixture
def channel() -> Channel:
    return make_channel(retention_days=30)


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


@pytest.fixture
def letter(channel: Channel, consumer: Consumer) -> DeadLetter:
    """Open, and older than letters are kept: it may be acted on, and it may go."""
    letter = make_old_dead(consumer, "dead")
    policies.put(channel, values={"retention_days": 39}, by="anna")
    export()
    return letter


def prune(channel: Channel) -> int:
    return messages.prune_batch(Wanted(channel.pk, 30, 39), after=0, most=100).gone.messages


def pruned_before(channel: Channel, act: Callable[[], Any]) -> Any:
    """The act meets rows that are gone in a transaction which has not ended; then it has. What it said, or refused."""
    said: list[Any] = []
    with transaction.atomic():
        assert prune(channel) == 1
        thread = threading.Thread(target=_tell, args=(act, said))
        thread.start()
        wait_until(lambda: waiting() == 1, 10)
    thread.join()
    return said[0]


def pruned_during(channel: Channel, act: Callable[[], Any]) -> int:
    """The act is done, but not committed, when the pruning comes by: how many went."""
    gone: list[Any] = []
    with transaction.atomic():
        act()
        thread = threading.Thread(target=_tell, args=(lambda: prune(channel), gone))
        thread.start()
        thread.join()
    return int(gone[0])


def _tell(act: Callable[[], Any], said: list[Any]) -> None:
    try:
        said.append(act())
    except BrokerError as error:
        said.append(error)
    finally:
        connection.close()


def _requeue() -> int:
    return requeue(DeadLetter.objects.all(), by="anna", most_times=10).moved


def nothing_is_left() -> bool:
    return not any(rows_left().values()) and not counts.check().total


def all_is_there(before: dict[str, int]) -> bool:
    key = MessageKey.objects.get()
    return before.items() <= rows_left().items() and key.pruned_at is None and not counts.check().total


def test_a_redrive_that_comes_too_late_finds_nothing(channel: Channel, letter: DeadLetter) -> None:
    assert pruned_before(channel, _requeue) == 0
    assert nothing_is_left()


def test_a_redrive_that_comes_first_keeps_the_message(channel: Channel, letter: DeadLetter) -> None:
    before = rows_left() | {"dead_letter_act": 2}

    assert pruned_during(channel, _requeue) == 0
    assert prune(channel) == 0
    assert all_is_there(before)
    assert DeliveryJob.objects.get().status == JobStatus.QUEUED


def test_a_redrive_between_the_look_and_the_hold_is_seen(channel: Channel, letter: DeadLetter) -> None:
    """It has committed, but the pruning's first statement began before: the job is held as it is now, with its mark."""
    before = rows_left() | {"dead_letter_act": 2}
    with connection.cursor() as cursor, transaction.atomic():
        told = {"channel": channel.pk, "days": 30, "letter_days": 39}
        cursor.execute(messages._LOOK, {**told, "after": 0, "most": 100})
        *_, chosen, jobs, letters = cursor.fetchone()
        assert len(chosen) == 1
        _requeue()
        DeliveryJob.objects.update(status=JobStatus.DELIVERED, status_changed_at=timezone.now() - timedelta(days=35))
        cursor.execute(messages._PRUNE, {**told, "messages": chosen, "jobs": jobs, "letters": letters})
        assert cursor.fetchall() == []
    assert LakeMark.objects.exists()
    assert all_is_there(before)


def test_a_replay_that_comes_too_late_finds_nothing(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    operation = REPLAY.begin(consumer, EVER, by="anna", note="", per_second=None)
    DeliveryJob.objects.update(status_changed_at=timezone.now() - timedelta(days=35))
    LakeMark.objects.all().delete()

    pruned_before(channel, lambda: runner.run_step(operation.pk))

    assert nothing_is_left()


def test_a_replay_that_comes_first_keeps_the_message(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    operation = REPLAY.begin(consumer, EVER, by="anna", note="", per_second=None)
    before = rows_left()

    assert pruned_during(channel, lambda: runner.run_step(operation.pk)) == 0
    assert DeliveryJob.objects.get().status == JobStatus.QUEUED
    assert all_is_there(before)


def test_what_was_missed_and_comes_too_late_makes_no_job_without_a_message(
    channel: Channel, consumer: Consumer
) -> None:
    make_old(channel, "old")
    export()
    late = make_consumer(channel, "late")
    operation = MISSED.begin(late, EVER, by="anna", note="", per_second=None)

    pruned_before(channel, lambda: runner.run_step(operation.pk))

    assert nothing_is_left()


def test_what_was_missed_and_comes_first_keeps_the_message(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    operation = MISSED.begin(make_consumer(channel, "late"), EVER, by="anna", note="", per_second=None)
    before = rows_left() | {"delivery_job": 2}

    assert pruned_during(channel, lambda: runner.run_step(operation.pk)) == 0
    assert prune(channel) == 0
    assert all_is_there(before)


def test_an_expunge_that_comes_too_late_is_told_so(channel: Channel, consumer: Consumer) -> None:
    [message] = make_old(channel, "old")
    export()

    assert isinstance(pruned_before(channel, lambda: expunge(message=message, by="anna")), MessagePruned)
    assert nothing_is_left()


def test_an_expunge_that_comes_first_keeps_the_message_until_the_lake_has_seen_it(
    channel: Channel, consumer: Consumer
) -> None:
    [message] = make_old(channel, "old")
    export()
    before = rows_left()

    assert pruned_during(channel, lambda: expunge(message=message, by="anna")) == 0
    assert prune(channel) == 0
    assert all_is_there(before)
    assert Message.objects.get().expunged_at is not None
    export()
    assert prune(channel) == 1


def test_an_edit_that_comes_too_late_is_told_so(channel: Channel, letter: DeadLetter) -> None:
    said = pruned_before(channel, lambda: edit_and_send(job=letter.job, content=Content(payload=b"y"), by="anna"))

    assert isinstance(said, UnknownLetter)
    assert nothing_is_left()


def test_letters_that_are_removed_at_the_same_time_are_passed_over(channel: Channel, letter: DeadLetter) -> None:
    assert pruned_during(channel, remove_old) == 0
    assert Message.objects.count() == 1

    assert prune(channel) == 1
    assert nothing_is_left()


def test_two_that_prune_at_once_take_each_row_once(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    gone: list[Any] = []
    with transaction.atomic():
        assert prune(channel) == 1
        thread = threading.Thread(target=_tell, args=(lambda: prune(channel), gone))
        thread.start()
        thread.join()
    assert gone == [0]
    assert nothing_is_left()


def test_a_message_with_the_id_of_a_pruned_one_is_a_duplicate_at_the_door(channel: Channel, consumer: Consumer) -> None:
    [message] = make_old(channel, "old")
    export()
    prune(channel)

    again = incoming((channel.pk, message.producer_id), "old")
    assert stored([again]) == [[False]]
    assert nothing_is_left()


def test_who_prunes_by_hand_waits_for_nobody_for_ever(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "SWEEP_SECONDS", 0.0)
    said: list[Any] = []
    with only_one(sweep.PRUNE_LOCK, patience_seconds=0):
        thread = threading.Thread(target=_tell, args=(sweep.prune_all, said))
        thread.start()
        thread.join()
    assert isinstance(said[0], sweep.PruningUnderWay)
