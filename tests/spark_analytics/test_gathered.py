"""What reports are made from, where much of it is not in the lake."""

from datetime import timedelta

import psycopg
import pytest
from django.utils import timezone
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob
from spark_analytics import gathered, source
from spark_analytics.lake import plan
from spark_analytics.lake.export import export
from spark_analytics.settings import Settings
from spark_analytics.tables import JOB
from tests.spark_analytics.odd_rows import make_history

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


def test_much_that_is_not_in_the_lake_is_read_in_parts_no_larger_than_a_slice(
    spark: SparkSession, settings_of_lake: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SLICE_IDS", 4)
    make_history()
    with psycopg.connect(settings_of_lake.database_url) as connection:
        ids = plan.outside(connection, JOB)
    rows = gathered.tail(spark, source.Reading(settings_of_lake.reads_url, JOB, ids.first, ids.last))
    assert rows is not None
    parts = rows.select("id").rdd.glom().collect()
    assert sorted(row.id for part in parts for row in part) == sorted(DeliveryJob.objects.values_list("pk", flat=True))
    assert max(map(len, parts)) <= 4


def test_only_slices_of_the_range_are_told_as_changed_since(spark: SparkSession, settings_of_lake: Settings) -> None:
    make_history()
    now = timezone.now()
    list(export(spark, settings_of_lake, everything=True, now=now))
    DeliveryJob.objects.update(priority=3)
    assert gathered.gather(spark, settings_of_lake, now - DAY, now + DAY).stale == 1
    assert gathered.gather(spark, settings_of_lake, now - 9 * DAY, now - 8 * DAY).stale == 0
