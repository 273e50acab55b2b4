"""Every figure of every report is what plain SQL says on PostgreSQL."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts, Names
from tests.spark_analytics.alike import assert_alike
from tests.spark_analytics.by_sql import SQL, figures_by_sql
from tests.spark_analytics.history import DAYS, ODD, make_history
from tests.spark_analytics.reading import figures, read_names, rolled_up

pytestmark = pytest.mark.django_db

Ground = tuple[SparkSession, dict[str, DataFrame], Names]
ALL = Asked(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), sla_seconds=30)


@pytest.fixture
def ground(db: None, spark: SparkSession) -> Ground:
    # The test's transaction waits for Spark.
    connection.cursor().execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    make_history(7, messages=700, scheduled=400)
    return spark, rolled_up(spark), read_names(spark)


def assert_equal_to_sql(ground: Ground, asked: Asked) -> None:
    spark, rollups, names = ground
    found, expected = figures(Facts.of(spark, rollups, names, asked), asked), figures_by_sql(asked)
    assert found.keys() == expected.keys()
    for name in SQL:
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
    st.sampled_from([0.5, 5.0, 60.0, 3600.0]),
)


def test_every_figure_equals_sql_for_the_whole_history_and_any_range_and_channels(ground: Ground) -> None:
    assert all(figures_by_sql(ALL).values())

    # Each question is twelve reports of Spark's: ten of them, and no search for a smaller one.
    @settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
    @example(ALL)
    @given(questions)
    def ask(asked: Asked) -> None:
        assert_equal_to_sql(ground, asked)

    ask()
