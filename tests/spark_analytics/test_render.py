"""The page and the files, from plain rows: no Spark is needed to see them."""

import json
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from spark_analytics.errors import NotDrawn
from spark_analytics.render import Result, Writer, files, write
from spark_analytics.render.summary import figures, summary
from spark_analytics.render.table import table
from spark_analytics.render.values import Row, percent, written
from tests.spark_analytics.figures import (
    MARKUP,
    all_of_them,
    heading,
    nothing,
    retries,
    throughput,
)
from tests.spark_analytics.page import Read, read, rows_of


def test_markup_in_a_name_stays_text(tmp_path: Path) -> None:
    write(tmp_path, heading(channels=(MARKUP,)), [replace(one, about=MARKUP) for one in all_of_them()])
    page = read(tmp_path)
    assert page.tags.count("script") == 2
    assert "b" not in page.tags
    assert MARKUP in page.shown
    assert json.loads(page.specs).keys() == {"throughput", "sla", "heat_map"}
    assert "<" not in page.specs


def test_the_page_fetches_nothing_and_runs_its_own_script_alone(tmp_path: Path) -> None:
    write(tmp_path, heading(), all_of_them())
    page = read(tmp_path)
    assert {address for address in page.addresses if not address.startswith(("#", "data:"))} == set()
    text = (tmp_path / "report.html").read_text()
    assert "default-src 'none'; script-src 'sha256-" in text
    assert "unsafe-eval" not in text.partition("</head>")[0]


def test_a_report_without_rows_says_so_and_has_no_picture(tmp_path: Path) -> None:
    write(tmp_path, heading(), [nothing()])
    assert "Nothing in this range." in read(tmp_path).shown
    assert not (tmp_path / "latency.png").exists()
    assert rows_of(tmp_path / "latency.csv") == []


def test_there_is_a_csv_a_report_a_png_a_picture_and_the_json(tmp_path: Path) -> None:
    path = write(tmp_path, heading(), all_of_them())
    assert {found.name for found in tmp_path.iterdir()} == {
        "report.html", "report.json", "throughput.csv", "throughput.png", "sla.csv", "sla.png",
        "heat_map.csv", "heat_map.png", "latency.csv",
    }  # fmt: skip
    assert path == tmp_path / "report.html"
    assert (tmp_path / "sla.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["asked"]["start"] == "2026-11-09T00:00:00Z"
    assert told["reports"]["throughput"]["rows"][0]["hour"] == "2026-11-09T00:00:00Z"


def test_no_page_and_no_picture_of_a_run_before_is_left_in_the_directory(tmp_path: Path) -> None:
    for name in ("report.html", "latency.png", "notes.txt"):
        (tmp_path / name).write_text("old")
    with Writer(tmp_path, heading()):
        assert [found.name for found in tmp_path.iterdir()] == ["notes.txt"]
    write(tmp_path, heading(), all_of_them())
    assert not (tmp_path / "latency.png").exists()


def test_the_page_says_what_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path, heading(channels=("orders", "mail"), sla_seconds=2.5, widened=True, stale=3), [nothing()])
    shown = read(tmp_path).shown
    for words in ("2026-11-09 00:00 UTC", "2026-11-11 00:00 UTC", "orders, mail", "within 2.5 s", "widened", "3 parts"):
        assert words in shown


def delivery(delivered: int, dead: int) -> list[Row]:
    return [{"channel": "orders", "consumer": "c", "delivered": delivered, "dead": dead, "open": 1}]


def test_the_page_begins_with_what_is_asked_first_and_how_it_was_before() -> None:
    failing = [
        {"channel": "mail", "consumer": "crm", "failed": 4},
        {"channel": "orders", "consumer": "c", "failed": 3},
    ]
    results = [
        replace(throughput(hours=1), before=throughput(hours=2).rows),
        replace(nothing("delivery"), rows=delivery(6, 2), before=delivery(4, 4)),
        replace(nothing("sla"), rows=[{"finished": 8, "in_time": 4}, {"finished": 2, "in_time": 1}], before=[]),
        replace(nothing("dead_letters"), rows=[{"entered": 2}, {"entered": 3}]),
        replace(nothing("failing_consumers"), keys=("channel", "consumer"), rows=failing, before=failing[1:]),
    ]
    assert [(one.now, one.before, one.about) for one in figures(results)] == [
        (2, 6, ""), (6, 4, ""), (0.75, 0.5, ""), (0.5, None, ""), (2, 4, ""), (5, None, ""), (4, None, "mail / crm"),
    ]  # fmt: skip


def test_a_summary_of_nothing_says_none_and_no_share() -> None:
    names = ("throughput", "delivery", "sla", "dead_letters", "failing_consumers")
    assert [one.write(one.now) for one in figures([nothing(name) for name in names])] == [
        "0", "0", "-", "-", "0", "0", "0",
    ]  # fmt: skip


def test_markup_in_the_name_of_the_worst_consumer_stays_text() -> None:
    failing = replace(nothing("failing_consumers"), rows=[{"channel": MARKUP, "failed": 1}])
    assert MARKUP in Read(summary([failing])).shown


def test_one_part_of_the_lake_is_told_as_one(tmp_path: Path) -> None:
    write(tmp_path, heading(stale=1), [nothing()])
    assert "1 part of the lake changed since it was exported" in read(tmp_path).shown


def test_a_table_too_long_for_a_page_says_where_the_rest_is(tmp_path: Path) -> None:
    write(tmp_path, heading(), [throughput(hours=400)])
    assert "The first 500 of 800 rows; throughput.csv has them all." in read(tmp_path).shown
    assert len(rows_of(tmp_path / "throughput.csv")) == 800


@pytest.mark.parametrize(("hours", "words"), [(1, "2 rows."), (0, "Nothing in this range.")])
def test_a_table_says_how_many_rows_it_has(hours: int, words: str) -> None:
    assert words in Read(table(throughput(hours=hours), heading())).shown


def test_shares_are_percent_on_the_page_and_fractions_in_the_files(tmp_path: Path) -> None:
    seen = retries((2, 1))
    write(tmp_path, heading(compares=True), [replace(seen, before=retries((1, 3)).rows)])
    shown = read(tmp_path).shown
    assert "66.67%before 25%, +166.7%" in shown
    assert "change %" not in shown
    [row] = rows_of(tmp_path / "retries.csv")
    assert (row["success_rate"][:6], row["success_rate before"]) == ("0.6666", "0.25")


def test_a_spreadsheet_takes_no_name_for_a_formula(tmp_path: Path) -> None:
    named = Result("sla", "t", "a", ("channel",), ("channel", "n"), [{"channel": "=1+1", "n": -3}])
    write(tmp_path, heading(), [replace(named, name="other")])
    assert rows_of(tmp_path / "other.csv") == [{"channel": "'=1+1", "n": "-3"}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (1234567, "1,234,567"), (0.123456, "0.1235"), (123456.7, "123,457"), (True, "yes"), ("x", "x"),
        (datetime(2026, 1, 2, 3), "2026-01-02 03:00 UTC"),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_figures_are_written_for_people(value: object, text: str) -> None:
    assert written(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0%"), (0.07, "7%"), (0.99954, "99.95%"), (1.0, "100%")]
)
def test_a_share_is_written_in_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_pictures_that_cannot_be_drawn_are_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PAINTER", [sys.executable, "-c", "raise SystemExit('no ink')"])
    with pytest.raises(NotDrawn, match="no ink"):
        write(tmp_path, heading(), all_of_them())
    assert not (tmp_path / "report.html").exists()
