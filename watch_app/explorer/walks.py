"""Walks along an index, newest first, that look at a bounded number of rows and say where they stopped.

The inner LIMIT is the bound, and nothing is pushed below it; the outer one ends the walk as soon as a page is full.
"""

from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from watch_app.explorer.asked import Kind

PAGE = 25
REACH = 10_000
_TOP = 2**63 - 1

_ALONG = "FROM {table} WHERE {along} AND id < %(below)s AND id >= %(floor)s ORDER BY id DESC"
_WALK = """
SELECT looked_at.id, {shows}
FROM (SELECT {columns} {along_it} LIMIT %(reach)s) AS looked_at {joined}
WHERE {beside} ORDER BY looked_at.id DESC LIMIT %(most)s
"""
_LAST_LOOKED_AT = "SELECT id {along_it} OFFSET %(reach)s - 1 LIMIT 1"


@dataclass(frozen=True)
class Hit:
    """The ids of the rows that tell of one result."""

    message: int | None = None
    job: int | None = None
    letter: int | None = None
    scheduled: int | None = None


@dataclass(frozen=True)
class Walk:
    """`along` has an index that ends with the id; `beside` is asked of each row that the walk passes.

    `shows` names the columns that make a hit. All texts are ours; what was asked for is in `values`.
    """

    kind: Kind
    table: str
    columns: str
    shows: dict[str, str]
    along: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    joined: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    reach: int = REACH
    floor: int = 0
    below: int | None = None


@dataclass(frozen=True)
class Walked:
    """`older`: where the next page begins; `looked_at`: at how many rows the walk had to stop, if it had to."""

    hits: list[Hit]
    older: int | None = None
    looked_at: int | None = None


def take(walk: Walk, before: int | None) -> Walked:
    """A page of it, and one row more, which says whether there are others."""
    values = {
        **walk.values,
        "below": min(before or _TOP, walk.below or _TOP),
        "floor": walk.floor,
        "reach": walk.reach,
        "most": PAGE + 1,
    }
    rows = _fetched(_statement(_WALK, walk), values)
    hits = [Hit(**dict(zip(walk.shows, row[1:], strict=True))) for row in rows[:PAGE]]
    if len(rows) > PAGE:
        return Walked(hits, older=rows[PAGE - 1][0])
    stopped = _fetched(_statement(_LAST_LOOKED_AT, walk), values)
    return Walked(hits, older=stopped[0][0], looked_at=walk.reach) if stopped else Walked(hits)


def gather(statement: str, values: dict[str, Any]) -> list[int] | None:
    """Ids from an index of open work, which is short when all is well; None if it is not."""
    ids = [row[0] for row in _fetched(statement, {**values, "most": REACH + 1})]
    return ids if len(ids) <= REACH else None


def _statement(text: str, walk: Walk) -> str:
    along = _ALONG.format(table=walk.table, along=" AND ".join(walk.along) or "true")
    return text.format(
        along_it=along,
        columns=walk.columns,
        shows=", ".join(walk.shows.values()),
        joined=walk.joined,
        beside=" AND ".join(walk.beside) or "true",
    )


def _fetched(statement: str, values: dict[str, Any]) -> list[tuple[int, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
