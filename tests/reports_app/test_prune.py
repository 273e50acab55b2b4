"""What is old, finished and proven in the lake goes, whole; everything else stays, whole."""

from datetime import timedelta

import pytest
from django.utils import timezone

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message
from dlq_app.discard import discard
from dlq_app.models import DeadLetter
from reports_app.models import LakeKind, LakeMark, LakeSlice
from reports_app.prune import sweep
from tests.channels_app.messages import make_messages
from tests.channels_app.registry import make_channel, make_consumer
from tests.reports_app.lake import age, export, left, make_old, make_old_dead, rows_left

pytestmark = pytest.mark.django_db


def test_an_old_delivered_message_goes_with_its_jobs_and_attempts(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()

    assert sweep.sweep().gone.messages == 1

    assert not any(rows_left().values())
    assert not counts.check().total


def test_the_slices_that_it_was_in_are_told(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    LakeSlice.objects.create(kind=1, first_id=10**9, last_id=10**9, row_count=1, checksum=1, path="elsewhere")
    sweep.sweep()

    told = dict(LakeSlice.objects.values_list("path", "pruned_at"))
    assert told.pop("elsewhere") is None
    assert len(told) == 3
    assert all(told.values())


def test_a_channel_that_says_nothing_keeps_its_messages(channel: Channel, consumer: Consumer) -> None:
    silent = make_channel("silent")
    make_consumer(silent)
    make_old(silent, "kept")
    export()

    assert sweep.sweep().gone.total == 0
    assert left() == {"kept"}


def test_what_is_younger_than_its_channel_s_days_stays(channel: Channel, consumer: Consumer) -> None:
    [young] = make_old(channel, "young")
    age(young.pk, by=timedelta(days=29))
    export()

    assert sweep.sweep().gone.total == 0


def test_an_old_message_that_was_delivered_again_lately_stays(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "again")
    DeliveryJob.objects.update(status_changed_at=timezone.now())
    export()

    assert sweep.sweep().gone.total == 0


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.INFLIGHT])
def test_a_message_with_an_open_job_stays_whole(channel: Channel, consumer: Consumer, status: JobStatus) -> None:
    make_consumer(channel, "second")
    make_old(channel, "open")
    DeliveryJob.objects.filter(consumer=consumer).update(status=status, lease_until=timezone.now())
    export()

    assert sweep.sweep().gone.total == 0
    assert DeliveryJob.objects.count() == 2


def test_a_message_that_waits_for_fan_out_stays(channel: Channel, consumer: Consumer) -> None:
    [waiting] = make_messages(channel, "waiting")
    age(waiting.pk)
    export()

    assert sweep.sweep().gone.total == 0


def test_a_message_for_nobody_goes(channel: Channel) -> None:
    make_old(channel, "nobody's")
    export()

    assert sweep.sweep().gone.messages == 1


@pytest.mark.parametrize("kind", [LakeKind.MESSAGE, LakeKind.JOB, LakeKind.ATTEMPT, LakeKind.LETTER_ACT])
def test_what_is_not_in_the_lake_stays_whole(channel: Channel, consumer: Consumer, kind: LakeKind) -> None:
    make_old_dead(consumer, "dead")
    discard(DeadLetter.objects.all(), by="anna")
    before = rows_left()
    export(*(one for one in LakeKind if one != kind))

    assert sweep.sweep().gone.total == 0
    assert rows_left() == before

    export()
    assert sweep.sweep().gone.messages == 1
    assert not any(rows_left().values())


@pytest.mark.parametrize("kind", [LakeKind.MESSAGE, LakeKind.JOB])
def test_a_slice_with_a_mark_that_waits_stays_whole(channel: Channel, consumer: Consumer, kind: LakeKind) -> None:
    make_old(channel, "marked")
    export()
    LakeSlice.objects.filter(kind=kind).update(last_id=10**6)
    # Of another row of the same slice.
    LakeMark.objects.create(kind=kind, block=3)

    assert sweep.sweep().gone.total == 0

    LakeMark.objects.all().delete()
    assert sweep.sweep().gone.messages == 1


def test_a_change_that_the_lake_has_not_seen_keeps_its_row(channel: Channel, consumer: Consumer) -> None:
    [message] = make_old(channel, "changed")
    export()
    Message.objects.filter(pk=message.pk).expunge(by="anna")

    assert sweep.sweep().gone.total == 0

    export()
    assert sweep.sweep().gone.messages == 1
