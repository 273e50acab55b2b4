"""What changes after it was in the lake leaves a mark; what is counted stays right."""

import pytest

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message, Producer
from reports_app.models import LakeKind, LakeMark, LakeWatermark
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db
LAST = 2**62


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


@pytest.fixture
def job(consumer: Consumer, producer: Producer) -> DeliveryJob:
    return make_job(consumer, producer)


def test_a_change_above_the_watermark_leaves_no_mark(job: DeliveryJob) -> None:
    LakeWatermark.objects.create(kind=LakeKind.JOB, until=job.pk - 1)
    DeliveryJob.objects.update(status=JobStatus.DELIVERED)
    assert not LakeMark.objects.exists()


def test_without_a_lake_there_are_no_marks(job: DeliveryJob) -> None:
    DeliveryJob.objects.update(status=JobStatus.DELIVERED)
    assert not LakeMark.objects.exists()


def test_one_statement_leaves_one_mark_a_block(consumer: Consumer, producer: Producer) -> None:
    jobs = [make_job(consumer, producer) for _ in range(3)]
    LakeWatermark.objects.create(kind=LakeKind.JOB, until=LAST)
    DeliveryJob.objects.update(status=JobStatus.DELIVERED)
    blocks = {job.pk >> 14 for job in jobs}
    assert sorted(LakeMark.objects.values_list("kind", "block")) == sorted((LakeKind.JOB, b) for b in blocks)


def test_messages_and_messages_for_later_leave_marks(job: DeliveryJob, channel: Channel, producer: Producer) -> None:
    make_scheduled(channel, producer, "later")
    for kind in (LakeKind.MESSAGE, LakeKind.SCHEDULED):
        LakeWatermark.objects.create(kind=kind, until=LAST)
    Message.objects.update(priority=7)
    ScheduledMessage.objects.update(status=ScheduledStatus.CANCELLED)
    assert {mark.kind for mark in LakeMark.objects.all()} == {LakeKind.MESSAGE, LakeKind.SCHEDULED}


def test_counts_stay_right_whatever_is_marked(job: DeliveryJob, channel: Channel, producer: Producer) -> None:
    make_scheduled(channel, producer, "later", partition=3)
    make_job(Consumer.objects.get(), producer, partition=2)
    for kind in LakeKind:
        LakeWatermark.objects.create(kind=kind, until=LAST)
    DeliveryJob.objects.update(status=JobStatus.DELIVERED)
    ScheduledMessage.objects.update(status=ScheduledStatus.CANCELLED)
    Message.objects.update(status=101)
    assert counts.check().total == 0
