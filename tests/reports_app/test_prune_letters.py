"""An open letter keeps its message; a resolved or an old one goes with it."""

import pytest
from django.urls import reverse

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message
from dlq_app import policies, retention
from dlq_app.discard import discard
from dlq_app.edit import Content
from dlq_app.models import DeadLetter, DeadLetterAct
from dlq_app.requeue import requeue
from dlq_app.services import edit_and_send
from reports_app.models import LakeKind, LakeSlice
from reports_app.prune import sweep
from tests.channels_app.staff import log_in
from tests.reports_app.lake import age, export, make_old_dead, rows_left

pytestmark = pytest.mark.django_db


def test_an_open_letter_keeps_its_message(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    export()

    assert sweep.sweep().gone.total == 0


def test_an_open_letter_that_is_older_than_letters_are_kept_does_not(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    policies.put(channel, values={"retention_days": 39}, by="anna")
    export()

    assert sweep.sweep().gone.messages == 1
    assert not any(rows_left().values())
    assert not counts.check().total


def test_a_dead_job_whose_letter_was_not_kept_goes(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    DeadLetter.objects.all().delete()
    export()

    assert sweep.sweep().gone.messages == 1


def test_resolved_letters_go_with_their_history_and_counters_stay_right(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "discarded")
    discard(DeadLetter.objects.all(), by="anna")
    make_old_dead(consumer, "requeued")
    requeue(DeadLetter.objects.all(), by="anna", most_times=10)
    DeliveryJob.objects.filter(status=JobStatus.QUEUED).update(status=JobStatus.DELIVERED)
    age(*Message.objects.values_list("pk", flat=True))
    export()

    assert sweep.sweep().gone.messages == 2
    assert not any(rows_left().values())
    assert not counts.check().total


def test_a_letter_opens_after_the_message_that_was_sent_instead_was_pruned(
    channel: Channel, consumer: Consumer
) -> None:
    letter = make_old_dead(consumer, "dead")
    edit_and_send(job=letter.job, content=Content(payload=b"better"), by="anna")
    Message.objects.exclude(message_id="dead").delete()

    client = log_in("view_deadletter")
    assert client.get(reverse("admin:dlq_app_deadletter_change", args=[letter.job_id])).status_code == 200


def kept(letter: DeadLetter) -> bool:
    return DeadLetter.objects.filter(pk=letter.pk).exists()


def test_letters_that_are_removed_by_age_wait_until_the_lake_has_their_history(
    channel: Channel, consumer: Consumer
) -> None:
    policies.put(channel, values={"retention_days": 30}, by="anna")
    first = make_old_dead(consumer, "first")
    export()
    second = make_old_dead(consumer, "second")

    assert retention.remove_old() == 1
    assert (kept(first), kept(second)) == (False, True)
    assert DeadLetterAct.objects.count() == 1
    export()
    assert retention.remove_old() == 1
    assert not DeadLetterAct.objects.exists()
    assert not counts.check().total


def test_an_act_on_a_letter_that_the_lake_has_not_seen_keeps_all_of_it(channel: Channel, consumer: Consumer) -> None:
    policies.put(channel, values={"retention_days": 30}, by="anna")
    letter = make_old_dead(consumer, "dead")
    export()
    discard(DeadLetter.objects.all(), by="anna")

    assert retention.remove_old() == 0
    assert kept(letter)
    assert DeadLetterAct.objects.count() == 2


def test_a_lake_without_any_act_yet_keeps_all_letters_and_no_lake_keeps_none(
    channel: Channel, consumer: Consumer
) -> None:
    policies.put(channel, values={"retention_days": 30}, by="anna")
    make_old_dead(consumer, "dead")
    export(LakeKind.MESSAGE)
    assert retention.remove_old() == 0

    LakeSlice.objects.all().delete()
    assert retention.remove_old() == 1
