"""Rows are read from a replica where there is one; who is too late to wait for is told."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.utils import timezone
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob, Producer
from reports_app.models import LakeKind, LakeSlice
from spark_analytics.gathered import gather
from spark_analytics.lake import settled
from spark_analytics.lake.export import export
from spark_analytics.lake.settled import ReplicaBehind, StillWriting
from spark_analytics.settings import Settings
from spark_analytics.verify import Found
from tests.channels_app.delivery.rows import make_job
from tests.spark_analytics.exporting import Export
from tests.spark_analytics.odd_rows import found, make_history
from tests.spark_analytics.standby import pause, resume, standby_of

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


def test_an_export_reads_a_replica_and_never_one_that_is_behind(
    spark: SparkSession, lake: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = make_history()
    with standby_of(lake.database_url) as standby:
        by_replica = replace(lake, reads_url=standby)
        list(export(spark, by_replica, everything=True, now=timezone.now()))
        assert found(spark, by_replica)["job"] == [Found.EQUAL]
        pause(standby)
        make_job(consumer, Producer.objects.get())
        with monkeypatch.context() as impatient:
            impatient.setattr(settled, "WAIT_SECONDS", 0.2)
            with pytest.raises(ReplicaBehind):
                list(export(spark, by_replica, everything=True, now=timezone.now()))
        assert LakeSlice.objects.filter(kind=LakeKind.JOB).count() == 1
        resume(standby)
        list(export(spark, by_replica, everything=True, now=timezone.now()))
        assert found(spark, by_replica)["job"] == [Found.EQUAL] * 2
    assert sum(one.row_count for one in LakeSlice.objects.filter(kind=LakeKind.JOB)) == DeliveryJob.objects.count()
    assert found(spark, lake)["job"] == [Found.EQUAL] * 2


def test_a_report_waits_for_the_replica_that_it_reads(
    spark: SparkSession, lake: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = make_history()
    now = timezone.now()
    with standby_of(lake.database_url) as standby:
        by_replica = replace(lake, reads_url=standby)
        pause(standby)
        make_job(consumer, Producer.objects.get())
        with monkeypatch.context() as impatient:
            impatient.setattr(settled, "WAIT_SECONDS", 0.2)
            with pytest.raises(ReplicaBehind):
                gather(spark, by_replica, now - DAY, now + DAY)
        resume(standby)
        jobs = gather(spark, by_replica, now - DAY, now + DAY).rollups["job"]
        assert sum(row.jobs for row in jobs.select("jobs").collect()) == DeliveryJob.objects.count()


def test_an_export_gives_up_on_a_transaction_that_does_not_end(
    lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_history()
    monkeypatch.setattr(settled, "WAIT_SECONDS", 0.2)
    with psycopg.connect(lake.database_url) as late:
        late.execute("UPDATE delivery_job SET priority = 5")
        with pytest.raises(StillWriting):
            bring()
    assert not LakeSlice.objects.exists()
