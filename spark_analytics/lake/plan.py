"""Which slices a run makes: new ones up to the end of yesterday, and those that changed since."""

from datetime import UTC, date, datetime, time

import psycopg
from psycopg import Connection

from spark_analytics import manifest
from spark_analytics.manifest import Ids, Mark, Slice
from spark_analytics.tables import Table

# For as long as a slice is read, what traffic leaves behind cannot be cleared away, and claims have to pass over it.
SLICE_IDS = 250_000


# Of payloads: a reader holds all of its part, in memory and in a transaction.
PART_BYTES = 256 * 2**20


def newest(connection: Connection, table: Table) -> int:
    row = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table.relation}").fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])


def oldest(connection: Connection, table: Table) -> int:
    row = connection.execute(f"SELECT coalesce(min(id), 1) FROM {table.relation}").fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])


def outside(connection: Connection, table: Table) -> Ids:
    """Those that are in the database only; the last is before the first if there are none."""
    end = manifest.end_of(connection, table)
    return Ids(max(end + 1, oldest(connection, table)), newest(connection, table))


def fresh(connection: Connection, table: Table) -> list[Ids]:
    """The first slice of all begins at 1: a smaller id than any that is seen may be on its way."""
    ids, end = outside(connection, table), manifest.end_of(connection, table)
    found = pieces(ids.first, ids.last)
    return [Ids(end + 1, found[0].last), *found[1:]] if found else []


def pieces(first: int, last: int) -> list[Ids]:
    return [Ids(start, min(start + SLICE_IDS - 1, last)) for start in range(first, last + 1, SLICE_IDS)]


def parts(url: str, table: Table, ids: Ids) -> list[Ids]:
    """What of a slice is read at once: all of it, or what a reader can hold where it has payloads."""
    if not table.is_wide:
        return [ids]
    with psycopg.connect(url, autocommit=True) as connection:
        *ends, _last = _ends_of_parts(connection, table, ids) or [ids.last]
    begins = [ids.first, *(end + 1 for end in ends)]
    return [Ids(*both) for both in zip(begins, [*ends, ids.last], strict=True)]


def _ends_of_parts(connection: Connection, table: Table, ids: Ids) -> list[int]:
    size = next(column.sql for column in table.columns if column.name == "bytes")
    rows = connection.execute(
        f"SELECT max(id) FROM (SELECT {table.id_sql} AS id, sum({size}) OVER (ORDER BY {table.id_sql}) / %s AS part"  # noqa: S608
        f" FROM {table.rows} WHERE {table.id_sql} BETWEEN %s AND %s) AS sized GROUP BY part ORDER BY part",
        [PART_BYTES, ids.first, ids.last],
    )
    return [end for (end,) in rows]


def closed(connection: Connection, table: Table, found: list[Ids], today: date) -> list[Ids]:
    """The last piece ends with the last row of a day that is over; those after it are of today."""
    for number, ids in reversed(list(enumerate(found))):
        if last := _last_before(connection, table, ids, today):
            return [*found[:number], Ids(ids.first, last)]
    return []


def _last_before(connection: Connection, table: Table, ids: Ids, today: date) -> int | None:
    """Rows of today with smaller ids, which are few, come along."""
    row = connection.execute(
        f"SELECT max({table.id_sql}) FROM {table.rows}"  # noqa: S608
        f" WHERE {table.id_sql} BETWEEN %s AND %s AND {table.day_sql} < %s",
        [ids.first, ids.last, datetime.combine(today, time(), tzinfo=UTC)],
    ).fetchone()
    return row[0] if row else None


def dirty(live: list[Slice], marks: list[Mark]) -> list[Slice]:
    return [one for one in live if any(mark.touches(one.ids) for mark in marks)]
