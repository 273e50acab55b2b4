"""Figures, their verdicts and the table."""

import pytest

from benchmarks import table
from benchmarks.figures import Figure, Target, at_most, ratio_at_least, ratio_at_most
from benchmarks.percentiles import percentile


@pytest.mark.parametrize(
    ("measured", "reference", "target", "verdict"),
    [
        (60.0, 100.0, ratio_at_least(0.6), "ok"),
        (59.0, 100.0, ratio_at_least(0.6), "missed"),
        (200.0, 100.0, ratio_at_most(2.0), "ok"),
        (201.0, 100.0, ratio_at_most(2.0), "missed"),
        (30.0, None, at_most(30.0), "ok"),
        (31.0, None, at_most(30.0), "missed"),
        (10.0, None, ratio_at_least(0.6), "missed"),
        (10.0, 5.0, None, ""),
        (None, None, at_most(30.0), "not there"),
    ],
)
def test_a_figure_is_judged_by_its_target(
    measured: float | None, reference: float | None, target: Target | None, verdict: str
) -> None:
    assert Figure("publish", "messages/s", measured, reference, target=target).verdict == verdict


def test_a_line_of_the_table_says_what_is_held_against_what() -> None:
    figure = Figure("publish", "messages/s", 6_000.0, 10_000.0, "bare inserts", ratio_at_least(0.5))
    assert table.write([figure]).splitlines()[1].split() == [
        "publish", "6,000", "messages/s", "10,000", "bare", "inserts", "0.6", "ratio", ">=", "0.5", "ok",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [
        ([], 50, 0.0),
        ([3.0], 99, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 50, 3.0),
        ([float(n) for n in range(1, 101)], 99, 100.0),
    ],
)
def test_a_percentile_is_one_of_the_values(values: list[float], percent: float, found: float) -> None:
    assert percentile(values, percent) == found
