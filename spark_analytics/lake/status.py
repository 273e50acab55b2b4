"""How far the lake goes, and what waits to be brought in."""

from dataclasses import dataclass
from datetime import date

from psycopg import Connection

from spark_analytics import manifest
from spark_analytics.lake import plan
from spark_analytics.tables import TABLES, Table


@dataclass(frozen=True)
class TableStatus:
    table: Table
    slices: int
    rows: int
    first_day: date | None
    last_day: date | None
    # Slices that changed since, and ids that are in the database only.
    changed: int
    tail: int


def status(connection: Connection) -> list[TableStatus]:
    return [_of(connection, table) for table in TABLES]


def _of(connection: Connection, table: Table) -> TableStatus:
    live = manifest.slices(connection, table)
    outside = plan.outside(connection, table)
    return TableStatus(
        table=table,
        slices=len(live),
        rows=sum(one.row_count for one in live),
        first_day=min((one.first_day for one in live if one.first_day), default=None),
        last_day=max((one.last_day for one in live if one.last_day), default=None),
        changed=len(plan.dirty(live, manifest.marks(connection, table))),
        tail=max(0, outside.last - outside.first + 1),
    )
