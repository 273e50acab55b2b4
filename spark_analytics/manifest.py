"""The lake's rows in PostgreSQL: which slices live, how far they go, what changed since (reports_app.models.lake)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from psycopg import Connection
from psycopg.rows import class_row

from spark_analytics.tables import Table

BLOCK_BITS = 14
# How the path of a slice with payloads ends.
PAYLOADS = "-payloads"

_COLUMNS = """id, kind, first_id, last_id, row_count, checksum, path, previous_path, first_day, last_day, exported_at,
    pruned_at"""
_ADD = """
INSERT INTO lake_slice (kind, first_id, last_id, row_count, checksum, path, first_day, last_day)
VALUES (%(kind)s, %(first_id)s, %(last_id)s, %(row_count)s, %(checksum)s, %(path)s, %(first_day)s, %(last_day)s)
"""
# Only if it is still as it was read: pruning may have taken rows away that the new version has not kept.
_REPLACE = """
UPDATE lake_slice SET row_count = %(row_count)s, checksum = %(checksum)s, previous_path = path, path = %(path)s,
    first_day = %(first_day)s, last_day = %(last_day)s, exported_at = now()
WHERE id = %(id)s AND path = %(old)s AND pruned_at IS NOT DISTINCT FROM %(pruned_at)s
"""
_MARKS = "SELECT block, array_agg(id) AS ids FROM lake_mark WHERE kind = %s GROUP BY block"
_RAISE = """
INSERT INTO lake_watermark (kind, until) VALUES (%s, %s)
ON CONFLICT (kind) DO UPDATE SET until = greatest(lake_watermark.until, excluded.until)
"""

# A mark touches the whole slice: one is enough.
_MARK = """
INSERT INTO lake_mark (kind, block) SELECT kind, first_id >> %(bits)s FROM lake_slice s
WHERE id = ANY(%(ids)s)
  AND NOT EXISTS (SELECT FROM lake_mark m WHERE m.kind = s.kind AND m.block = s.first_id >> %(bits)s)
"""
_MAKE_OWNER = "INSERT INTO lake_owner (owner_id) VALUES (%s) ON CONFLICT DO NOTHING"


@dataclass(frozen=True)
class Ids:
    first: int
    last: int


@dataclass(frozen=True)
class Measured:
    """What a slice's rows add up to."""

    row_count: int
    checksum: int
    first_day: date | None = None
    last_day: date | None = None


@dataclass(frozen=True)
class Slice:
    id: int
    kind: int
    first_id: int
    last_id: int
    row_count: int
    checksum: int
    path: str
    previous_path: str
    first_day: date | None
    last_day: date | None
    exported_at: datetime
    pruned_at: datetime | None

    @property
    def ids(self) -> Ids:
        return Ids(self.first_id, self.last_id)

    def columns_of(self, table: Table) -> Table:
        """The table with the columns that this slice was written with."""
        return table.wide() if self.path.endswith(PAYLOADS) else table


@dataclass(frozen=True)
class Mark:
    """All marks of a block: a busy one has very many."""

    block: int
    ids: list[int]

    def touches(self, ids: Ids) -> bool:
        return ids.first >> BLOCK_BITS <= self.block <= ids.last >> BLOCK_BITS


def slices(connection: Connection, table: Table) -> list[Slice]:
    """All that live, in the order of their ids."""
    with connection.cursor(row_factory=class_row(Slice)) as cursor:
        return cursor.execute(
            f"SELECT {_COLUMNS} FROM lake_slice WHERE kind = %s ORDER BY first_id",  # noqa: S608
            [table.kind],
        ).fetchall()


def marks(connection: Connection, table: Table) -> list[Mark]:
    with connection.cursor(row_factory=class_row(Mark)) as cursor:
        return cursor.execute(_MARKS, [table.kind]).fetchall()


def mark(connection: Connection, found: Sequence[Slice]) -> None:
    connection.execute(_MARK, {"ids": [one.id for one in found], "bits": BLOCK_BITS})


def forget(connection: Connection, seen: Sequence[Mark]) -> None:
    connection.execute("DELETE FROM lake_mark WHERE id = ANY(%s)", [[one for mark in seen for one in mark.ids]])


def end_of(connection: Connection, table: Table) -> int:
    """The last id that a slice has; slices follow each other without a gap."""
    row = connection.execute("SELECT max(last_id) FROM lake_slice WHERE kind = %s", [table.kind]).fetchone()
    return (row and row[0]) or 0


def owner(connection: Connection) -> str | None:
    row = connection.execute("SELECT owner_id FROM lake_owner").fetchone()
    return row[0] if row else None


def make_owner(connection: Connection, owner_id: str) -> str:
    """This one, if there is none yet."""
    connection.execute(_MAKE_OWNER, [owner_id])
    made = owner(connection)
    assert made is not None
    return made


def raise_watermark(connection: Connection, table: Table, until: int) -> None:
    connection.execute(_RAISE, [table.kind, until])


def add(connection: Connection, table: Table, ids: Ids, path: str, measured: Measured) -> None:
    values = {"kind": table.kind, "first_id": ids.first, "last_id": ids.last, "path": path, **vars(measured)}
    connection.execute(_ADD, values)


def replace(connection: Connection, old: Slice, path: str, measured: Measured) -> bool:
    """False if it is no longer what it was when it was read."""
    values = {"id": old.id, "old": old.path, "pruned_at": old.pruned_at, "path": path, **vars(measured)}
    return connection.execute(_REPLACE, values).rowcount == 1
