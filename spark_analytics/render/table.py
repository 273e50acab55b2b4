"""A report's table on the page: each figure has one column, with what it was before under it."""

from collections.abc import Callable
from datetime import datetime
from html import escape
from typing import Any

from spark_analytics.render.comparison import BEFORE, CHANGE, HOURS_IN, compared, remark
from spark_analytics.render.values import Heading, Result, Row, percent, written

# A browser is slow with more; the CSV has them all.
MOST_ROWS = 500
# By which rows of two periods are matched; the hour itself stands beside it.
HIDDEN = {HOURS_IN}
# Shown in percent, as the pictures show them; in the files they are fractions.
SHARES = {
    *("success_rate", "retry_rate", "failure_rate", "attainment", "share_of_successes"),
    *("within_1s", "within_10s", "within_60s"),
}


def table(result: Result, heading: Heading) -> str:
    every, rows = compared(result, heading)
    beside = {name + end for name in result.columns for end in (BEFORE, CHANGE)}
    columns = tuple(name for name in every if name not in HIDDEN | beside)
    if not rows:
        return "<p>Nothing in this range.</p>"
    right = {name: all(isinstance(row.get(name), int | float | None) for row in rows) for name in columns}
    head = "".join(f"<th scope=col{_aligned(right[name])}>{escape(_named(name))}</th>" for name in columns)
    body = "".join(_line(row, columns, right) for row in rows[:MOST_ROWS])
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class=table tabindex=0>{whole}</div><p class=soft>{escape(_counted(result, len(rows)))}</p>"


def _counted(result: Result, count: int) -> str:
    """By the page, and by an order of figures: what was only before has none."""
    gone = 0 if HOURS_IN in result.keys else count - len(result.rows)
    words = [
        _how_many(result.name, count),
        *([f"Only in the period before, and therefore last: {gone:,}."] if gone else []),
    ]
    return " ".join(words)


def _how_many(name: str, count: int) -> str:
    if count > MOST_ROWS:
        return f"The first {MOST_ROWS} of {count:,} rows; {name}.csv has them all."
    return "1 row." if count == 1 else f"{count:,} rows."


def _line(row: Row, columns: tuple[str, ...], right: dict[str, bool]) -> str:
    cells = "".join(f"<td{_aligned(right[name])}>{_cell(name, row)}</td>" for name in columns)
    return f"<tr>{cells}</tr>"


def _cell(column: str, row: Row) -> str:
    value, write = row.get(column), _writer(column)
    text = escape(write(value))
    if isinstance(value, datetime):
        return f"<time>{text}</time>"
    then = remark(value, row.get(column + BEFORE), write)
    return f"{text}<span class=then>{escape(then)}</span>" if then else text


def _writer(column: str) -> Callable[[Any], str]:
    return percent if column in SHARES else written


def _aligned(is_number: bool) -> str:
    return " class=number" if is_number else ""


def _named(column: str) -> str:
    return column.replace("_", " ")
