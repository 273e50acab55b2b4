"""Which slices a run makes: new ones up to the end of yesterday, and those that changed since."""

from datetime import UTC, date, datetime, time

from psycopg import Connection

from spark_analytics import manifest
from spark_analytics.manifest import Ids, Mark, Slice
from spark_analytics.tables import Table

SLICE_IDS = 500_000


def newest(connection: Connection, table: Table) -> int:
    row = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table.relation}").fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])


def next_id(connection: Connection, table: Table) -> int:
    """The first that is not in the lake; in an empty lake, the first there is."""
    if end := manifest.end_of(connection, table):
        return end + 1
    row = connection.execute(f"SELECT coalesce(min(id), 1) FROM {table.relation}").fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])


def pieces(first: int, last: int) -> list[Ids]:
    return [Ids(start, min(start + SLICE_IDS - 1, last)) for start in range(first, last + 1, SLICE_IDS)]


def closed(connection: Connection, table: Table, found: list[Ids], today: date) -> list[Ids]:
    """The last piece ends with the last row of a day that is over."""
    if not found:
        return []
    *whole, tail = found
    last = _last_before(connection, table, tail, today)
    return [*whole, Ids(tail.first, last)] if last else whole


def _last_before(connection: Connection, table: Table, ids: Ids, today: date) -> int | None:
    """Rows of today with smaller ids, which are few, come along."""
    day = next(column.sql for column in table.columns if column.name == table.day)
    row = connection.execute(
        f"SELECT max({table.id_sql}) FROM {table.rows} WHERE {table.id_sql} BETWEEN %s AND %s AND {day} < %s",  # noqa: S608
        [ids.first, ids.last, datetime.combine(today, time(), tzinfo=UTC)],
    ).fetchone()
    return row[0] if row else None


def dirty(live: list[Slice], marks: list[Mark]) -> list[Slice]:
    return [one for one in live if any(mark.touches(one.ids) for mark in marks)]
