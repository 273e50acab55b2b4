"""Holds the lines of a report against those of SQL: counts exactly, quantiles by their rank."""

from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import Any

from spark_analytics.sketches import QUANTILES, RANK_ERROR, K
from tests.spark_analytics.reading import Row

SECONDS = "seconds"


def assert_alike(name: str, found: list[Row], expected: list[Row]) -> None:
    assert len(found) == len(expected), (name, found, expected)
    for line, other in zip(found, expected, strict=True):
        assert _columns_of(other) == list(line), name
        for column, value in other.items():
            if column.endswith(SECONDS) and isinstance(value, list | None):
                assert_quantiles(line, column.removesuffix(SECONDS), value or [])
            else:
                assert line[column] == _plain(value), (name, column, line, other)


def assert_in_time(found: list[Row], expected: list[Row]) -> None:
    """Against a target that was not counted: exact where a sketch is, near it elsewhere."""
    lines = {(line["channel"], line["consumer"]): line for line in found}
    assert len(lines) == len(expected)
    for other in expected:
        line = lines[other["channel"], other["consumer"]]
        off = 0 if other["finished"] <= K else RANK_ERROR * other["finished"]
        assert abs(line["in_time"] - other["in_time"]) <= off, (line, other)
        assert line["attainment"] == line["in_time"] / line["finished"]
        assert line["finished"] == other["finished"]


def assert_quantiles(line: Row, prefix: str, values: list[float]) -> None:
    for quantile, rank in QUANTILES.items():
        assert_rank(line[prefix + quantile], rank, values)


def assert_rank(found: float | None, rank: float, values: list[float]) -> None:
    """`values` are sorted. Of those that are as small as what was found, there are as many as the rank says."""
    if not values:
        assert found is None
        return
    assert found in values
    smaller, as_small = bisect_left(values, found) / len(values), bisect_right(values, found) / len(values)
    assert smaller - RANK_ERROR <= rank <= as_small + RANK_ERROR, (found, smaller, as_small)


def _columns_of(expected: Row) -> list[str]:
    names: list[str] = []
    for column in expected:
        prefix = column.removesuffix(SECONDS)
        is_values = column in (SECONDS, f"ack_{SECONDS}")
        names += [prefix + quantile for quantile in QUANTILES] if is_values else [column]
    return names


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) else value
