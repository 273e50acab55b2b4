"""A report beside the period before, from plain rows."""

from dataclasses import replace
from pathlib import Path

import pytest

from spark_analytics.render import write
from spark_analytics.render.comparison import change, remark
from spark_analytics.render.values import written
from tests.spark_analytics.figures import (
    HOUR,
    START,
    heading,
    nothing,
    producers,
    sla,
    throughput,
)
from tests.spark_analytics.page import read, rows_of


def test_an_hour_is_shown_with_the_figure_of_the_same_hour_before(tmp_path: Path) -> None:
    before = throughput(start=START - 48 * HOUR, factor=2).rows
    write(tmp_path, heading(compares=True), [replace(throughput(), before=before)])
    first = rows_of(tmp_path / "throughput.csv")[2]
    assert (first["messages"], first["messages before"], first["messages change %"]) == ("2", "4", "-50.0")
    assert "Compared with" in read(tmp_path).shown


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        (104, 100, "before 100, +4%"), (50, 100, "before 100, -50%"), (3, 3, "before 3, ±0%"), (3, 0, "before 0"),
        (None, 3, "before 3"), (3, None, ""), (12345, 1, "before 1, +1,234,400%"),
    ],
)  # fmt: skip
def test_beside_a_figure_stands_what_it_was_and_the_change_with_its_sign(
    now: float | None, then: float | None, words: str
) -> None:
    assert remark(now, then, written) == words


def test_what_was_only_before_is_shown_too(tmp_path: Path) -> None:
    before = [{"channel": "gone", "consumer": "c", "finished": 3, "attainment": 1.0}]
    write(tmp_path, heading(compares=True), [replace(sla(), before=before)])
    last = rows_of(tmp_path / "sla.csv")[-1]
    assert (last["channel"], last["finished"], last["finished before"]) == ("gone", "", "3")


def test_the_page_says_how_many_of_the_last_rows_were_only_before(tmp_path: Path) -> None:
    before = [{"channel": "gone", "consumer": "c", "finished": 3, "attainment": 1.0}]
    write(tmp_path, heading(compares=True), [replace(sla(), before=before), replace(throughput(), before=[])])
    assert read(tmp_path).shown.count("Only in the period before, and therefore last: 1.") == 1


def test_hours_that_were_only_before_stand_among_the_others(tmp_path: Path) -> None:
    before = throughput(hours=3, start=START - 48 * HOUR).rows
    now = throughput(hours=3)
    kept = [row for row in now.rows if row["hours_in"] != 1]
    write(tmp_path, heading(compares=True), [replace(now, rows=kept, before=before)])
    assert [row["hours_in"] for row in rows_of(tmp_path / "throughput.csv")] == list("001122")
    assert "Only in the period before" not in read(tmp_path).shown


def test_what_was_asked_is_not_compared(tmp_path: Path) -> None:
    rows = [{**row, "target_seconds": 60.0} for row in sla().rows]
    asked = replace(sla(), columns=("channel", "consumer", "target_seconds", "finished"), rows=rows, before=rows)
    write(tmp_path, heading(compares=True), [asked])
    first = rows_of(tmp_path / "sla.csv")[0]
    assert list(first) == [
        "channel", "consumer", "target_seconds", "finished", "finished before", "finished change %",
    ]  # fmt: skip


def test_of_what_was_only_before_no_text_or_time_is_shown_as_if_it_were_now(tmp_path: Path) -> None:
    sent = producers(("shop", START + HOUR))
    before = producers(("shop", START - HOUR), ("gone", START - 2 * HOUR)).rows
    write(tmp_path, heading(compares=True), [replace(sent, before=before)])
    shop, gone = rows_of(tmp_path / "producers.csv")
    assert (shop["producer"], shop["last_hour"]) == ("shop", "2026-11-09T01:00:00Z")
    assert (gone["producer"], gone["messages before"], gone["last_hour"]) == ("gone", "3", "")


def test_an_hour_that_was_only_before_is_shown_as_the_hour_of_this_period(tmp_path: Path) -> None:
    before = throughput(hours=2, start=START - 48 * HOUR).rows
    write(tmp_path, heading(compares=True), [replace(throughput(hours=1), before=before)])
    assert [row["hour"] for row in rows_of(tmp_path / "throughput.csv")][2:] == ["2026-11-09T01:00:00Z"] * 2


def test_a_comparison_with_nothing_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, heading(compares=True), [replace(sla(), before=[]), replace(nothing(), before=[])])
    assert rows_of(tmp_path / "sla.csv")[0]["finished change %"] == ""


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [(3, 2, 50.0), (1, 2, -50.0), (2, 2, 0.0), (1, 0, None), (None, 2, None), (1, None, None), (10, -10, 200.0)],
)
def test_a_change_is_in_percent_of_what_was(now: float | None, then: float | None, expected: float | None) -> None:
    assert change(now, then) == expected


def test_each_figure_has_one_column_on_the_page_and_three_in_the_files(tmp_path: Path) -> None:
    result = replace(throughput(hours=1), before=throughput(hours=1, factor=2).rows)
    write(tmp_path, heading(compares=True), [result])
    assert read(tmp_path).tags.count("th") == len(result.columns) - len({"hours_in"})
    assert list(rows_of(tmp_path / "throughput.csv")[0])[3:6] == ["messages", "messages before", "messages change %"]
