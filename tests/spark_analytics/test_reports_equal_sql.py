"""Every figure of every report, by way of the lake, is what plain SQL says on PostgreSQL."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob, JobStatus, Message
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from spark_analytics.asked import HOUR, Asked
from spark_analytics.gathered import Gathered, gather
from spark_analytics.lake import plan
from spark_analytics.lake.export import export
from spark_analytics.progress import Meter
from spark_analytics.rollups.job import STEPS
from spark_analytics.run import results_of
from spark_analytics.settings import Settings
from spark_analytics.tables import TABLES
from tests.spark_analytics.alike import assert_alike, assert_in_time
from tests.spark_analytics.by_sql import SQL, figures_by_sql
from tests.spark_analytics.history import DAYS, ODD, make_busy_hour, make_history, make_traffic

pytestmark = pytest.mark.django_db(transaction=True)

ALL = Asked(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), sla_seconds=30)


@dataclass(frozen=True)
class Ground:
    spark: SparkSession
    settings: Settings


@pytest.fixture
def ground(spark: SparkSession, settings_of_lake: Settings, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """Half of it is in the lake, in several slices, some of them exported anew; the other half is not."""
    history = make_history(7, messages=350, scheduled=200)
    with monkeypatch.context() as smaller:
        smaller.setattr(plan, "SLICE_IDS", 1_000)
        first = list(export(spark, settings_of_lake, everything=True, now=datetime.now(UTC)))
    change_some()
    make_traffic(history, messages=range(350, 700), scheduled=range(200, 400))
    make_busy_hour(history, numbers=range(1_000, 6_000))
    # Nothing is closed on a day before all of them: what changed is all that comes.
    second = list(export(spark, settings_of_lake, everything=False, now=ALL.start))
    assert sum(done.slices for done in first) > len(TABLES)
    assert [(done.slices, done.again > 0) for done in second[:3]] == [(0, True)] * 3
    return Ground(spark, settings_of_lake)


def change_some() -> None:
    jobs = DeliveryJob.objects.filter(status__in=(JobStatus.QUEUED, JobStatus.INFLIGHT))
    jobs.update(status=JobStatus.DELIVERED, attempt=2, failures=1, status_changed_at=F("created_at") + HOUR)
    Message.objects.filter(pk__in=Message.objects.order_by("pk")[:50]).update(payload=b"another")
    ScheduledMessage.objects.filter(status=ScheduledStatus.SCHEDULED).update(status=ScheduledStatus.CANCELLED)


def assert_equal_to_sql(ground: Ground, gathered: Gathered, asked: Asked) -> None:
    found = {one.name: one.rows for one in results_of(ground.spark, gathered, asked, Meter(len(SQL), lambda _: None))}
    expected = figures_by_sql(asked)
    assert found.keys() == expected.keys()
    if asked.sla_seconds not in STEPS:
        assert_in_time(found.pop("sla"), expected.pop("sla"))
    for name in expected:
        assert_alike(name, found[name], expected[name])


moments = st.builds(
    lambda day, minutes: day + timedelta(minutes=minutes), st.sampled_from(DAYS), st.integers(-600, 48 * 60)
)
questions = st.builds(
    lambda start, length, channels, sla: Asked.between(
        start, start + length, channels=tuple(sorted(channels)), sla_seconds=sla
    ),
    moments,
    st.sampled_from(
        [timedelta(minutes=1), timedelta(hours=5), timedelta(days=1), timedelta(days=2), timedelta(days=9)]
    ),
    st.sets(st.sampled_from(["orders", ODD, "quiet", "no such channel"]), max_size=3),
    st.sampled_from([0.5, 5.0, 45.0, 60.0, 3600.0]),
)


def test_every_figure_equals_sql_for_the_whole_history_and_any_range_and_channels(ground: Ground) -> None:
    assert all(figures_by_sql(ALL).values())

    # Each question is twelve reports of Spark's, or twice as many: ten of them, and no search for a smaller one.
    @settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
    @example(ALL, False)
    @example(replace(ALL, sla_seconds=45.0), False)
    @given(questions, st.booleans())
    def ask(asked: Asked, compares: bool) -> None:
        periods = [asked, asked.before] if compares else [asked]
        gathered = gather(ground.spark, ground.settings, periods[-1].start, asked.end)
        assert gathered.stale == 0
        for period in periods:
            assert_equal_to_sql(ground, gathered, period)

    ask()
