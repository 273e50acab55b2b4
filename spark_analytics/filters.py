"""Spark's filters as SQL, where both mean the same; what cannot be said so is left to Spark."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from spark_analytics.tables import Column, Type

_COMPARED: dict[type[Filter], str] = {
    EqualTo: "=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
_EMPTY: dict[type[Filter], str] = {IsNull: "IS NULL", IsNotNull: "IS NOT NULL"}


def as_sql(asked: Filter, columns: dict[str, Column]) -> str | None:
    """None if it is not for PostgreSQL to answer."""
    column = _column(asked, columns)
    if column is None:
        return None
    if type(asked) in _EMPTY:
        return f"{column.sql} {_EMPTY[type(asked)]}"
    if isinstance(asked, In):
        return _among(column, asked.value)
    # Another order of letters than Spark's.
    if type(asked) not in _COMPARED or (column.type is Type.TEXT and not isinstance(asked, EqualTo)):
        return None
    value = _literal(asked.value)  # type: ignore[attr-defined]
    return value and f"{column.sql} {_COMPARED[type(asked)]} {value}"


def _column(asked: Filter, columns: dict[str, Column]) -> Column | None:
    path: tuple[str, ...] = getattr(asked, "attribute", ())
    return columns.get(path[0]) if len(path) == 1 else None


def _among(column: Column, values: Sequence[Any]) -> str | None:
    said = [_literal(value) for value in values]
    return f"{column.sql} IN ({', '.join(map(str, said))})" if said and all(said) else None


def _literal(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return f"'{value.isoformat()}'::timestamptz" if value.tzinfo else None
    if isinstance(value, str) and "\0" not in value:
        return "'" + value.replace("'", "''") + "'"
    return None
