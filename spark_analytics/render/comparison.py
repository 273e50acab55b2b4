"""The figures of the period before, beside those that were asked for."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from spark_analytics.render.values import Heading, Result, Row

BEFORE = " before"
CHANGE = " change %"
# Numbers that say what a row is about.
NUMBERED = {"attempt", "hour_of_day", "day_of_week", "weekday", "rank", "status", "channel_id", "consumer_id"}


def keys_of(result: Result) -> tuple[str, ...]:
    return tuple(name for name in result.columns if not _is_measure(name, [*result.rows, *(result.before or [])]))


def compared(result: Result, heading: Heading) -> tuple[tuple[str, ...], list[Row]]:
    """Columns and rows with a figure, the one before and the change side by side. What was only before is shown too."""
    if result.before is None:
        return result.columns, result.rows
    keys = keys_of(result)
    before = {_key(_moved(row, heading.length), keys): row for row in result.before}
    rows = [_beside(row, before.pop(_key(row, keys), {}), result.columns, keys) for row in result.rows]
    gone = [_beside(dict(zip(keys, key, strict=True)), row, result.columns, keys) for key, row in before.items()]
    return _columns(result.columns, keys), rows + gone


def _columns(columns: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in ((column,) if column in keys else _three(column)))


def _three(column: str) -> tuple[str, str, str]:
    return column, column + BEFORE, column + CHANGE


def _beside(now: Row, then: Row, columns: tuple[str, ...], keys: tuple[str, ...]) -> Row:
    row: Row = {}
    for column in columns:
        row[column] = now.get(column)
        if column not in keys:
            row[column + BEFORE] = then.get(column)
            row[column + CHANGE] = change(now.get(column), then.get(column))
    return row


def change(now: float | None, then: float | None) -> float | None:
    """In percent of what it was; where there was nothing, there is none."""
    return None if now is None or not then else round(100 * (now - then) / then, 1)


def _moved(row: Row, by: timedelta) -> Row:
    return {name: value + by if isinstance(value, datetime) else value for name, value in row.items()}


def _key(row: Row, keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in keys)


def _is_measure(name: str, rows: Iterable[Row]) -> bool:
    values = [row.get(name) for row in rows if row.get(name) is not None]
    return name not in NUMBERED and bool(values) and all(isinstance(value, int | float) for value in values)
