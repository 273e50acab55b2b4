"""Hours from before numbers were recorded come from the lake's roll-ups."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pyspark.sql import SparkSession

from channels_app.models import DeliveryAttempt, Message
from dlq_app.models import DeadLetterAct
from scheduling_app.models import ScheduledMessage
from spark_analytics.hourly import counts_of
from spark_analytics.settings import Settings
from tests.spark_analytics.conftest import bring, database_url, lake, settings_of_lake, spark
from tests.spark_analytics.exporting import Export
from tests.watch_app.numbers import flows, totals
from watch_app import rollups
from watch_app.models import Flow, Measure, Recorded, Source, Step
from watch_app.record import record
from watch_app.values import Scope

__all__ = ["bring", "database_url", "lake", "settings_of_lake", "spark"]


@pytest.mark.parametrize(
    ("shares", "size", "counts"),
    [
        ([0.0, 0.5, 1.0], 4, [0, 2, 2]),
        ([0.25, 0.25, 0.5], 4, [1, 0, 1, 2]),
        ([1.0, 1.0], 3, [3]),
        ([0.0, 0.0], 0, []),
    ],
)
def test_shares_below_edges_are_counts_between_them(shares: list[float], size: int, counts: list[int]) -> None:
    assert counts_of(shares, size) == counts


@pytest.fixture
def past(spark: SparkSession, lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three days up to this midnight, in the lake. Of the dead some had a try left, and waited for it too long."""
    monkeypatch.setenv("DATABASE_URL", lake.database_url)
    monkeypatch.setenv("LAKE_URL", lake.lake_url)
    call_command("make_history", "--messages=2000", "--days=3", f"--until={timezone.now():%Y-%m-%d}")
    DeadLetterAct.objects.filter(act="entered", reason="refused").update(reason="expired")
    bring()


@pytest.mark.django_db(transaction=True)
def test_a_view_of_a_month_has_days_from_before_it_was_recorded(past: None, tmp_path: Path) -> None:
    record()
    assert flows(words="30d") == (0, 0, 0, 0, 0)
    assert rollups.news() is not None

    rollups.fill()

    assert flows(words="30d") == _counted()
    channels = Message.objects.values_list("channel_id", flat=True).distinct()
    assert sum(flows(Scope(channel), "30d")[1] for channel in channels) == _counted()[1]
    told = totals(words="30d")
    waited = DeadLetterAct.objects.filter(reason="expired").count()
    assert told.retried == told.failed - told.dead + waited > told.failed - told.dead
    for asked, found in ((_LATENCY, told.latency), (_LAG, told.lag)):
        assert [found.p50, found.p95, found.p99] == [pytest.approx(true, rel=0.2) for true in _quantiles(asked)]
    assert rollups.news() is None
    assert rollups.fill() == 0


@pytest.mark.django_db(transaction=True)
def test_what_was_recorded_stays_and_what_changed_in_the_lake_is_written_anew(past: None, bring: Export) -> None:
    noon = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(hours=12)
    Flow.objects.create(at=noon, channel_id=1, consumer_id=0, measure=Measure.ACCEPTED, place=0, count=7)
    record()
    rollups.fill()
    hours = Recorded.objects.filter(step=Step.HOUR, channel_id=0)
    before = hours.filter(source=Source.ROLLUP).count()
    assert before > 24
    assert hours.get(at=noon).accepted == 7

    DeliveryAttempt.objects.filter(reason="timeout").update(reason=None)
    Message.objects.update(priority=5)
    bring()
    assert rollups.news() is not None
    rollups.fill()

    assert hours.filter(source=Source.ROLLUP).count() == before
    assert hours.get(at=noon).accepted == 7


def _counted() -> tuple[int, int, int, int, int]:
    attempts = DeliveryAttempt.objects
    return (
        Message.objects.count(),
        attempts.filter(reason=None).count(),
        attempts.exclude(reason=None).count(),
        DeadLetterAct.objects.filter(act="entered").count(),
        ScheduledMessage.objects.filter(status=101).count(),
    )


_LATENCY = """
SELECT extract(epoch FROM j.status_changed_at - m.received_at)::float8 AS seconds
FROM delivery_job j JOIN message m ON m.id = j.message_id WHERE j.status = 1003
"""
_LAG = """
SELECT extract(epoch FROM dispatched_at - due_at)::float8 AS seconds FROM scheduled_message WHERE status = 101
"""


def _quantiles(asked: str) -> list[float]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY seconds) FROM ({asked}) AS t"  # noqa: S608
        )
        found: list[float] = cursor.fetchone()[0]
    return found
