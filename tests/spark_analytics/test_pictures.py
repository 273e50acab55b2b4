"""Pictures of a report, from plain rows: what is drawn, in which colours, on which axes."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from spark_analytics.render import Heading, Result, pictures, write
from spark_analytics.render.charts import APART, MEANT, MOST_BARS, MOST_LINES, WHOLE, Bars, Drawn, fitting
from spark_analytics.render.colours import COLOURS, Colours
from spark_analytics.render.pictures import PICTURES
from spark_analytics.reports import REPORTS
from tests.spark_analytics.figures import (
    HOUR,
    START,
    heading,
    heat_map,
    nothing,
    producers,
    retries,
    sla,
    throughput,
)
from tests.spark_analytics.page import rows_of


def draw(result: Result, asked: Heading) -> Drawn | None:
    return pictures.draw(result, asked, Colours())


def test_every_report_has_a_picture() -> None:
    assert PICTURES.keys() == {report.NAME for report in REPORTS}


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


def test_sunday_is_the_last_day_of_the_heat_map() -> None:
    drawn = draw(heat_map(), heading())
    assert drawn
    assert drawn.spec["data"]["values"][-1]["day"] == "Sun"
