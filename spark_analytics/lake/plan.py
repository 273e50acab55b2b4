"""Which slices a run makes: new ones up to the end of yesterday, and those that changed since."""

from datetime import UTC, date, datetime

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
    """Without the last piece while rows of today are at its end."""
    if found and _day_of(connection, table, found[-1].last) >= today:
        return found[:-1]
    return found


def _day_of(connection: Connection, table: Table, row_id: int) -> date:
    day = next(column.sql for column in table.columns if column.name == table.day)
    row = connection.execute(
        f"SELECT {day} FROM {table.rows} WHERE {table.id_sql} = %s",  # noqa: S608
        [row_id],
    ).fetchone()
    moment: datetime = row[0] if row else datetime.min.replace(tzinfo=UTC)
    return moment.astimezone(UTC).date()


def dirty(live: list[Slice], marks: list[Mark]) -> list[Slice]:
    return [one for one in live if any(mark.touches(one.ids) for mark in marks)]
