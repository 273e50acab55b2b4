"""The figures of the period before, beside those that were asked for."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from spark_analytics.render.values import Heading, Result, Row

BEFORE = " before"
CHANGE = " change %"
HOUR = "hour"
# What rows of an hour are matched by, and ordered by first.
HOURS_IN = "hours_in"
# Constants of the question: no figures, and nothing to compare.
ASKED = {"target_seconds", "hours"}


def compared(result: Result, heading: Heading) -> tuple[tuple[str, ...], list[Row]]:
    """Columns and rows with a figure, the one before and the change side by side.

    What was only before is shown too: in its hour, or where rows are not of hours, last.
    """
    if result.before is None:
        return result.columns, result.rows
    measures = _measures(result)
    before = {_key(row, result.keys): row for row in result.before}
    rows = [_beside(row, before.pop(_key(row, result.keys), {}), measures) for row in result.rows]
    gone = [_beside(_only_before(row, result.keys, heading.length), row, measures) for row in before.values()]
    return _columns(result.columns, measures), _in_order(rows + gone, result.keys)


def _in_order(rows: list[Row], keys: tuple[str, ...]) -> list[Row]:
    return sorted(rows, key=lambda row: _key(row, keys)) if HOURS_IN in keys else rows


def change(now: float | None, then: float | None) -> float | None:
    """In percent of what it was, up or down; where there was nothing, there is none."""
    return None if now is None or not then else round(100 * (now - then) / abs(then), 1)


def remark(now: float | None, then: float | None, write: Callable[[float | None], str]) -> str:
    """What the page says beside a figure; of what was not there before, nothing."""
    if then is None:
        return ""
    percent = change(now, then)
    return f"before {write(then)}" if percent is None else f"before {write(then)}, {_signed(percent)}%"


def _signed(value: float) -> str:
    digits = f"{abs(value):,.1f}".removesuffix(".0")
    return f"±{digits}" if not value else f"{'+' if value > 0 else '-'}{digits}"


def _columns(columns: tuple[str, ...], measures: set[str]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in (_three(column) if column in measures else (column,)))


def _three(column: str) -> tuple[str, str, str]:
    return column, column + BEFORE, column + CHANGE


def _beside(now: Row, then: Row, measures: set[str]) -> Row:
    row = dict(now)
    for name in measures:
        row[name + BEFORE] = then.get(name)
        row[name + CHANGE] = change(now.get(name), then.get(name))
    return row


def _only_before(row: Row, keys: tuple[str, ...], length: timedelta) -> Row:
    """What it is about, in this period. Whatever else it says is of then, and has no column of its own."""
    about = {name: row.get(name) for name in keys}
    return {**about, HOUR: row[HOUR] + length} if HOUR in row else about


def _key(row: Row, keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in keys)


def _measures(result: Result) -> set[str]:
    rows = [*result.rows, *(result.before or [])]
    figures = [name for name in result.columns if name not in ASKED and name not in result.keys]
    return {name for name in figures if _are_numbers(row.get(name) for row in rows)}


def _are_numbers(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)
