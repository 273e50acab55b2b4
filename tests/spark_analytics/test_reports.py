"""Reports at their edges: nothing at all, one row, names that come twice, ranges that are not whole hours."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics.asked import Asked
from spark_analytics.errors import BadRange, BadTarget
from spark_analytics.facts import Facts, Names
from spark_analytics.reports import (
    REPORTS,
    dead_letter_growth,
    delivery,
    failing_consumers,
    lateness,
    retries,
    sla,
    throughput,
)
from spark_analytics.rollups import rolled_up
from spark_analytics.rollups.job import SCHEMA, STEPS
from spark_analytics.sketches import RANK_ERROR
from spark_analytics.tables import BY_NAME
from tests.spark_analytics.reading import Row, as_frame, figures, rows_of

START = datetime(2026, 3, 29, tzinfo=UTC)
DAY = Asked(START, START + timedelta(days=1))
NOON = START + timedelta(hours=12)


def make_names(spark: SparkSession, *channels: tuple[int, str]) -> Names:
    return Names(
        channels=spark.createDataFrame(list(channels), "id bigint, channel string"),
        consumers=spark.createDataFrame([(7, "billing", 1)], "id bigint, consumer string, channel_id bigint"),
        producers=spark.createDataFrame([(9, "shop")], "id bigint, producer string"),
    )


def make_facts(spark: SparkSession, asked: Asked, *channels: tuple[int, str], **rows: list[Row]) -> Facts:
    rollups = {name: rolled_up(name, as_frame(spark, BY_NAME[name], rows[name])) for name in rows}
    return Facts.of(spark, rollups, make_names(spark, *channels), asked)


def message(channel_id: int, received_at: datetime) -> Row:
    return {"id": 1, "channel_id": channel_id, "producer_id": 9, "received_at": received_at, "bytes": 5}


def test_every_report_is_named_once_and_says_what_it_is() -> None:
    assert len({report.NAME for report in REPORTS}) == len(REPORTS) == 12
    assert all(report.TITLE and report.ABOUT.endswith(".") and report.KEYS for report in REPORTS)


def test_an_empty_database_has_reports_without_lines_but_with_their_columns(spark: SparkSession) -> None:
    facts = make_facts(spark, DAY, (1, "orders"))
    for report in REPORTS:
        found = report.build(facts, DAY)
        assert set(report.KEYS) <= set(found.columns)
        assert "binary" not in dict(found.dtypes).values()
    assert not any(figures(facts, DAY).values())


def test_one_delivered_job_makes_right_reports(spark: SparkSession) -> None:
    job = {
        "id": 1,
        "channel_id": 1,
        "consumer_id": 7,
        "status": 1003,
        "attempt": 1,
        "failures": 0,
        "created_at": NOON,
        "accepted_at": NOON,
        "status_changed_at": NOON + timedelta(seconds=60),
    }
    attempt = {"id": 1, "channel_id": 1, "consumer_id": 7, "attempt": 1, "duration_ms": 40, "finished_at": NOON}
    facts = make_facts(spark, DAY, (1, "orders"), message=[message(1, NOON)], job=[job], attempt=[attempt])
    found = figures(facts, DAY)
    who = {"channel": "orders", "consumer": "billing"}
    seconds = {"p50": 60.0, "p95": 60.0, "p99": 60.0}
    assert found["throughput"] == [{"hour": NOON, "hours_in": 12, "channel": "orders", "messages": 1, "bytes": 5}]
    assert found["delivery"] == [
        {
            **who,
            "jobs": 1,
            "delivered": 1,
            "dead": 0,
            "open": 0,
            "success_rate": 1.0,
            "tried": 1,
            "retried": 0,
            "retry_rate": 0.0,
            "attempts": 1,
            "failures": 0,
            **seconds,
        }
    ]
    # Just in time is in time.
    assert found["sla"] == [{**who, "target_seconds": 60.0, "finished": 1, "in_time": 1, "attainment": 1.0}]
    assert [(line["delivered"], line["p99"], line["ack_p99"]) for line in found["latency"]] == [(1, 60.0, None)]
    assert [(line["attempt"], line["share_of_successes"]) for line in found["retries"]] == [(1, 1.0)]
    # The day on which Europe's clocks change is a Sunday of 24 hours.
    assert [tuple(line.values()) for line in found["heat_map"]] == [(7, 12, 1, 1, 1.0)]
    assert not any(found[name] for name in ("failing_consumers", "dead_letters", "scheduler_lag", "lateness"))


def delivered(seconds: list[float]) -> list[Row]:
    """Jobs of one hour, with these latencies."""
    job = {"channel_id": 1, "consumer_id": 7, "status": 1003, "attempt": 1, "failures": 0, "created_at": NOON}
    return [
        {**job, "id": number, "accepted_at": NOON, "status_changed_at": NOON + timedelta(seconds=taken)}
        for number, taken in enumerate(seconds)
    ]


def roll_up_of_jobs(spark: SparkSession, seconds: list[float]) -> DataFrame:
    return rolled_up("job", as_frame(spark, BY_NAME["job"], delivered(seconds)))


def in_time(spark: SparkSession, rollup: DataFrame, target: float) -> tuple[int, int]:
    asked = replace(DAY, sla_seconds=target)
    facts = Facts.of(spark, {"job": rollup}, make_names(spark, (1, "orders")), asked)
    [line] = rows_of(sla.build(facts, asked))
    return line["in_time"], line["finished"]


# More than a sketch holds: from -1 second, as clocks go, to 123.975.
MANY = [number / 40 - 1 for number in range(5_000)]


def test_against_a_target_that_is_counted_very_many_deliveries_are_counted_exactly(spark: SparkSession) -> None:
    rollup = roll_up_of_jobs(spark, MANY).persist()
    for target in STEPS:
        assert in_time(spark, rollup, target) == (sum(taken <= target for taken in MANY), len(MANY))


def test_against_any_other_target_very_many_are_estimated(spark: SparkSession) -> None:
    found, finished = in_time(spark, roll_up_of_jobs(spark, MANY), 42)
    assert finished == len(MANY)
    assert found == pytest.approx(sum(taken <= 42 for taken in MANY), abs=RANK_ERROR * len(MANY))


def test_very_many_are_exact_against_any_target_while_each_roll_up_has_few(spark: SparkSession) -> None:
    parts = [roll_up_of_jobs(spark, MANY[first::7]) for first in range(7)]
    rollup = reduce(DataFrame.unionByName, parts)
    assert in_time(spark, rollup, 42) == (sum(taken <= 42 for taken in MANY), len(MANY))


def test_roll_ups_of_before_there_were_counts_in_them_are_told_by_their_sketches(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "old")
    roll_up_of_jobs(spark, MANY[::10]).drop("within").write.parquet(path)
    old = spark.read.schema(SCHEMA).parquet(path)
    rollup = old.unionByName(roll_up_of_jobs(spark, MANY[1::10])).persist()
    both = MANY[::10] + MANY[1::10]
    for target in (60, 42):
        assert in_time(spark, rollup, target) == (sum(taken <= target for taken in both), len(both))


def test_against_a_target_that_is_counted_no_sketch_is_opened(spark: SparkSession) -> None:
    rollup = roll_up_of_jobs(spark, [59.0, 60.0, 61.0]).withColumn("latency", F.lit(b"no sketch"))
    assert in_time(spark, rollup, 60) == (2, 3)


def test_of_very_many_messages_for_later_the_shares_in_time_are_exact(spark: SparkSession) -> None:
    row = {"channel_id": 1, "status": 101, "created_at": NOON, "scheduled_for": NOON, "due_at": NOON}
    rows = [{**row, "id": number, "dispatched_at": NOON + timedelta(seconds=lag)} for number, lag in enumerate(MANY)]
    # Waits still: it has no lag.
    rows.append({**row, "id": len(MANY), "status": 100})
    [line] = rows_of(lateness.build(make_facts(spark, DAY, (1, "orders"), scheduled=rows), DAY))
    assert (line["messages"], line["dispatched"]) == (5_001, 5_000)
    for name, most in (("within_1s", 1), ("within_10s", 10), ("within_60s", 60)):
        assert line[name] == sum(lag <= most for lag in MANY) / len(MANY)


def test_a_claim_that_was_given_back_counts_as_one(spark: SparkSession) -> None:
    whose = {"id": 1, "channel_id": 1, "consumer_id": 7, "attempt": 2}
    job = {**whose, "status": 1003, "failures": 0, "created_at": NOON, "status_changed_at": NOON}
    attempt = {**whose, "duration_ms": 40, "finished_at": NOON}
    facts = make_facts(spark, DAY, (1, "orders"), job=[job], attempt=[attempt])
    [line] = rows_of(delivery.build(facts, DAY))
    assert [line[name] for name in ("tried", "retried", "attempts", "failures")] == [1, 1, 2, 0]
    [line] = rows_of(retries.build(facts, DAY))
    assert (line["attempt"], line["attempts"], line["succeeded"]) == (2, 1, 1)


def test_what_ended_without_the_consumers_doing_is_not_its_failure(spark: SparkSession) -> None:
    reasons = [None, "timeout", "worker_lost", "worker_lost", "expired", "consumer_gone", "channel_gone"]
    attempt = {"channel_id": 1, "consumer_id": 7, "attempt": 1, "duration_ms": 0, "finished_at": NOON}
    rows = [{**attempt, "id": number, "reason": reason} for number, reason in enumerate(reasons)]
    [line] = rows_of(failing_consumers.build(make_facts(spark, DAY, (1, "orders"), attempt=rows), DAY))
    assert (line["attempts"], line["failed"], line["main_reason"]) == (7, 1, "timeout")
    gone = make_facts(spark, DAY, (1, "orders"), attempt=rows[2:])
    assert rows_of(failing_consumers.build(gone, DAY)) == []


def test_letters_that_go_by_age_stay_in_the_growth_and_the_report_says_so(spark: SparkSession) -> None:
    """They leave no act: what came in and was not resolved is all there is to see."""
    act = {"id": 1, "channel_id": 1, "consumer_id": 7, "act": "entered", "reason": "timeout", "at": NOON}
    [line] = rows_of(dead_letter_growth.build(make_facts(spark, DAY, (1, "orders"), letter_act=[act]), DAY))
    assert (line["entered"], line["resolved"], line["grown_so_far"]) == (1, 0, 1)
    assert "What went by age, or with its message, is not taken off." in dead_letter_growth.ABOUT


def test_channels_of_one_name_are_one_and_an_unknown_one_keeps_its_number(spark: SparkSession) -> None:
    rows = [message(1, NOON), message(2, NOON), message(3, NOON)]
    facts = make_facts(spark, DAY, (1, "orders"), (2, "orders"), message=rows)
    lines = rows_of(throughput.build(facts, DAY))
    assert [(line["channel"], line["messages"]) for line in lines] == [("#3", 1), ("orders", 2)]


def test_hours_of_the_period_before_are_matched_by_how_far_in_they_are(spark: SparkSession) -> None:
    rows = [message(1, NOON), message(1, NOON - timedelta(days=1))]
    both = [
        rows_of(throughput.build(make_facts(spark, asked, (1, "orders"), message=rows), asked))
        for asked in (DAY, DAY.before)
    ]
    assert [[line[key] for key in throughput.KEYS] for [line] in both] == [[12, "orders"]] * 2


def test_the_period_before_is_as_long_and_ends_where_the_range_begins() -> None:
    asked = Asked(START, START + timedelta(hours=5), channels=("orders",), sla_seconds=3)
    assert asked.before == Asked(START - timedelta(hours=5), START, channels=("orders",), sla_seconds=3)


def test_a_range_is_widened_to_whole_hours_of_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    asked = Asked.between(datetime(2026, 3, 29, 5, 30, tzinfo=india), datetime(2026, 3, 29, 6, 31, tzinfo=india))
    assert (asked.start, asked.end, asked.hours, asked.widened) == (START, START + timedelta(hours=2), 2, True)


def test_a_range_of_whole_hours_stays_as_it_is() -> None:
    assert Asked.between(START, START + timedelta(hours=1)) == Asked(START, START + timedelta(hours=1))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (START, START),
        (NOON, START),
        (START.replace(tzinfo=None), NOON),
        (START, NOON.replace(tzinfo=None)),
        (datetime.min.replace(tzinfo=UTC), NOON),
        (START, datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_a_range_that_is_none_is_refused(start: datetime, end: datetime) -> None:
    with pytest.raises(BadRange):
        Asked.between(start, end)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_target_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(BadTarget):
        Asked.between(START, NOON, sla_seconds=seconds)
