"""An export and a pruning that follow each other, with real files: nothing is lost, and all of it is proven."""

import pytest
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob, JobStatus, Message
from dlq_app import services
from dlq_app.filters import LetterFilter
from reports_app.models import LakeKind, LakeMark, LakeSlice
from reports_app.prune import sweep
from spark_analytics.lake import read
from spark_analytics.settings import Settings
from spark_analytics.tables import JOB
from spark_analytics.verify import Found
from tests.channels_app.registry import make_channel, make_consumer
from tests.reports_app.lake import make_old, make_old_dead
from tests.spark_analytics.exporting import Export
from tests.spark_analytics.odd_rows import found, lake_of

pytestmark = pytest.mark.django_db(transaction=True)


def all_that_is_found(spark: SparkSession, lake: Settings) -> set[Found]:
    return {one for said in found(spark, lake).values() for one in said}


def test_what_is_redriven_stays_what_is_pruned_is_in_the_lake(
    spark: SparkSession, lake: Settings, bring: Export
) -> None:
    consumer = make_consumer(make_channel(retention_days=30))
    make_old(consumer.channel, "first", "second")
    letter = make_old_dead(consumer, "dead")
    jobs = set(DeliveryJob.objects.values_list("pk", flat=True))
    bring()
    services.requeue_all(chosen=LetterFilter(channel_id=consumer.channel_id), by="tests")

    # The whole slice waits until the lake has seen the redrive.
    assert sweep.sweep().gone.messages == 0
    bring()
    assert sweep.sweep().gone.messages == 2
    assert list(Message.objects.values_list("message_id", flat=True)) == ["dead"]
    assert all_that_is_found(spark, lake) == {Found.EQUAL}

    DeliveryJob.objects.filter(pk=letter.job_id).update(status=JobStatus.DELIVERED, attempt=2)
    bring()
    assert not LakeMark.objects.exists()
    assert all_that_is_found(spark, lake) == {Found.EQUAL}

    kept = read.rows(lake_of(spark, lake), JOB, [LakeSlice.objects.get(kind=LakeKind.JOB).path]).collect()
    assert {row.id for row in kept} == jobs
    assert {row.status for row in kept} == {JobStatus.DELIVERED}
