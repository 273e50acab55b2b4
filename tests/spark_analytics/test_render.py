"""The page and the files, from plain rows: no Spark is needed to see them."""

import csv
import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from spark_analytics.errors import NotDrawn
from spark_analytics.render import Heading, Result, Writer, files, pictures, write
from spark_analytics.render.charts import APART, MEANT, MOST_BARS, MOST_LINES, WHOLE, Bars, Drawn, fitting
from spark_analytics.render.colours import COLOURS, Colours
from spark_analytics.render.comparison import change, remark
from spark_analytics.render.pictures import PICTURES
from spark_analytics.render.summary import figures, summary
from spark_analytics.render.table import table
from spark_analytics.render.values import Row, percent, written
from spark_analytics.reports import REPORTS
from tests.spark_analytics.figures import (
    HOUR,
    MARKUP,
    START,
    all_of_them,
    heading,
    heat_map,
    nothing,
    producers,
    retries,
    sla,
    throughput,
)


class Read(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.shown = ""
        self.specs = ""
        self._in = [""]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._in.append("specs" if ("id", "specs") in attrs else tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self._in[-1] == "specs":
            self.specs += data
        elif self._in[-1] not in ("script", "style"):
            self.shown += data


def read(directory: Path) -> Read:
    return Read((directory / "report.html").read_text())


def draw(result: Result, asked: Heading) -> Drawn | None:
    return pictures.draw(result, asked, Colours())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_report_has_a_picture() -> None:
    assert PICTURES.keys() == {report.NAME for report in REPORTS}


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


def test_an_hour_is_shown_with_the_figure_of_the_same_hour_before(tmp_path: Path) -> None:
    before = throughput(start=START - 48 * HOUR, factor=2).rows
    write(tmp_path, heading(compares=True), [replace(throughput(), before=before)])
    first = rows_of(tmp_path / "throughput.csv")[2]
    assert (first["messages"], first["messages before"], first["messages change %"]) == ("2", "4", "-50.0")
    assert "Compared with" in read(tmp_path).shown


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


def test_one_part_of_the_lake_is_told_as_one(tmp_path: Path) -> None:
    write(tmp_path, heading(stale=1), [nothing()])
    assert "1 part of the lake changed since it was exported" in read(tmp_path).shown


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


def test_a_table_too_long_for_a_page_says_where_the_rest_is(tmp_path: Path) -> None:
    write(tmp_path, heading(), [throughput(hours=400)])
    assert "The first 500 of 800 rows; throughput.csv has them all." in read(tmp_path).shown
    assert len(rows_of(tmp_path / "throughput.csv")) == 800


@pytest.mark.parametrize(("hours", "words"), [(1, "2 rows."), (0, "Nothing in this range.")])
def test_a_table_says_how_many_rows_it_has(hours: int, words: str) -> None:
    assert words in Read(table(throughput(hours=hours), heading())).shown


def test_each_figure_has_one_column_on_the_page_and_three_in_the_files(tmp_path: Path) -> None:
    result = replace(throughput(hours=1), before=throughput(hours=1, factor=2).rows)
    write(tmp_path, heading(compares=True), [result])
    assert read(tmp_path).tags.count("th") == len(result.columns) - len({"hours_in"})
    assert list(rows_of(tmp_path / "throughput.csv")[0])[3:6] == ["messages", "messages before", "messages change %"]


def test_a_picture_of_too_many_lines_shows_the_biggest_and_says_so() -> None:
    few = throughput(hours=1)
    rows = [{**few.rows[0], "channel": f"c{number}", "messages": number} for number in range(30)]
    drawn = draw(replace(few, rows=rows), heading(end=START + HOUR))
    assert drawn
    assert drawn.note == f"The picture shows {MOST_LINES} of 30."
    assert {row["name"] for row in drawn.spec["data"]["values"]} == {f"c{number}" for number in range(22, 30)}


def test_a_picture_of_too_many_shares_shows_the_worst_and_says_so() -> None:
    rows = [{**sla().rows[0], "consumer": f"c{number}", "attainment": number / 30} for number in range(30)]
    drawn = draw(replace(sla(), rows=rows), heading())
    assert drawn
    assert drawn.note == f"The picture shows {MOST_BARS} of 30."
    assert [row["value"] for row in drawn.spec["data"]["values"]] == [number / 30 for number in range(MOST_BARS)]


def test_an_hour_without_messages_is_drawn_as_none() -> None:
    few = throughput(hours=1)
    drawn = draw(few, heading(made_at=START + 3 * HOUR))
    assert drawn
    points = [(row["hour"], row["value"]) for row in drawn.spec["data"]["values"] if row["name"] == "orders"]
    assert points == [("2026-11-09T00:00:00Z", 1), ("2026-11-09T01:00:00Z", 0), ("2026-11-09T02:00:00Z", 0)]


@pytest.mark.parametrize(
    ("name", "value", "expected", "words"),
    [
        # Of 24 hours two have messages; of the last day there are 12 hours.
        ("throughput", "messages", [(10 + 20) / 24, 6 / 12], "the mean of its hours"),
        ("latency", "p95", [20, 6], "its highest hour"),
        ("dead_letter_growth", "grown_so_far", [10, 6], "its last hour"),
    ],
)
def test_a_picture_of_very_many_days_has_a_point_a_day(
    name: str, value: str, expected: list[float], words: str
) -> None:
    end = START + timedelta(days=100, hours=12)
    told = {0: 20, 23: 10, 100 * 24: 6, 100 * 24 + 1: None if name == "latency" else 0 if name == "throughput" else 6}
    rows = [{"hour": START + place * HOUR, "channel": "orders", value: figure} for place, figure in told.items()]
    drawn = draw(replace(nothing(name), rows=rows), heading(end=end, made_at=end))
    assert drawn
    points = {point["hour"]: point["value"] for point in drawn.spec["data"]["values"]}
    assert [points["2026-11-09T00:00:00Z"], points["2027-02-17T00:00:00Z"]] == expected
    assert len(points) == (101 if name == "throughput" else 2)
    assert drawn.note == f"A point is a day: {words}."
    assert drawn.spec["encoding"]["x"]["timeUnit"] == "utcyearmonthdate"


def test_the_files_of_very_many_days_have_every_hour(tmp_path: Path) -> None:
    end = START + timedelta(days=61)
    drawn = draw(throughput(hours=61 * 24), heading(end=end, made_at=end))
    assert drawn
    assert len(drawn.spec["data"]["values"]) == 61 * 2
    write(tmp_path, heading(end=end, made_at=end), [throughput(hours=61 * 24)])
    assert len(rows_of(tmp_path / "throughput.csv")) == 61 * 24 * 2


def test_a_picture_of_two_months_still_has_its_hours() -> None:
    end = START + timedelta(days=60)
    drawn = draw(throughput(hours=60 * 24), heading(end=end, made_at=end))
    assert drawn
    assert len(drawn.spec["data"]["values"]) == 60 * 24 * 2


def test_what_went_well_is_drawn_calm_and_what_failed_is_not() -> None:
    drawn = draw(retries((3, 1), (1, 0)), heading())
    assert drawn
    scale = drawn.spec["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "succeeded": MEANT["succeeded"], "failed": MEANT["failed"],
    }  # fmt: skip


def coloured(result: Result, colours: Colours) -> dict[str, str]:
    drawn = pictures.draw(result, heading(), colours)
    assert drawn
    scale = drawn.spec["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_a_channel_has_the_same_colour_in_all_pictures() -> None:
    colours = Colours()
    busy, quiet = throughput(hours=1).rows
    first = coloured(
        replace(throughput(), rows=[{**busy, "channel": "a"}, {**quiet, "channel": "z", "messages": 9}]), colours
    )
    assert first == {"a": COLOURS[1], "z": COLOURS[0]}
    late = [{"hour": START, "channel": channel, "p95": 1.0} for channel in ("a", "n", "z")]
    assert coloured(replace(nothing("latency"), rows=late), colours) == {**first, "n": COLOURS[2]}
    assert coloured(producers(("shop", START)), colours) == {"orders": COLOURS[3]}


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["dead", "delivered", "open"], 3), (["history-orders"] * 5, 2), (["x" * 40, "y"], 2), (["x" * 60, "y"], 1),
        ([], 1),
    ],
)  # fmt: skip
def test_a_legend_has_as_many_columns_as_a_phone_has_room_for(names: list[str], columns: int) -> None:
    assert fitting(names, 280) == columns


def test_a_reason_has_the_same_colour_whether_it_is_of_letters_or_of_attempts() -> None:
    colours = Colours()
    whose = {"channel": "orders", "consumer": "c"}
    letters = [{**whose, "reason": reason, "entered": 1} for reason in ("timeout", "http_500")]
    failing = [{**whose, "main_reason": "http_500", "failed": 1}]
    told = coloured(replace(nothing("dead_letters"), rows=letters), colours)
    assert coloured(replace(nothing("failing_consumers"), rows=failing), colours) == {"http_500": told["http_500"]}


def test_two_names_in_one_picture_look_alike_only_when_there_is_no_colour_left() -> None:
    colours = Colours()
    colours.of("channel", [f"c{number}" for number in range(len(COLOURS))])
    # The ninth would look like the first.
    both = colours.of("channel", ["c8", "c0"])
    assert both == {"c0": COLOURS[0], "c8": COLOURS[1]}
    assert colours.of("channel", ["c8"]) == {"c8": COLOURS[0]}


@pytest.mark.parametrize("picture", [one for one in PICTURES.values() if isinstance(one, Bars)])
def test_each_of_several_figures_in_a_bar_has_a_colour_that_means_something(picture: Bars) -> None:
    assert len(picture.values) == 1 or set(picture.values) <= MEANT.keys()


def test_an_axis_of_counts_has_whole_numbers_and_one_of_seconds_need_not() -> None:
    few = draw(retries((1, 1)), heading())
    seconds = draw(replace(nothing("lateness"), rows=[{"horizon": "minute", "p95": 0.4}]), heading())
    assert few
    assert few.spec["encoding"]["x"]["axis"] == {**APART, **WHOLE}
    assert seconds
    assert seconds.spec["encoding"]["x"]["axis"] == APART


def test_shares_are_percent_on_the_page_and_fractions_in_the_files(tmp_path: Path) -> None:
    seen = retries((2, 1))
    write(tmp_path, heading(compares=True), [replace(seen, before=retries((1, 3)).rows)])
    shown = read(tmp_path).shown
    assert "66.67%before 25%, +166.7%" in shown
    assert "change %" not in shown
    [row] = rows_of(tmp_path / "retries.csv")
    assert (row["success_rate"][:6], row["success_rate before"]) == ("0.6666", "0.25")


def test_sunday_is_the_last_day_of_the_heat_map() -> None:
    drawn = draw(heat_map(), heading())
    assert drawn
    assert drawn.spec["data"]["values"][-1]["day"] == "Sun"


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
