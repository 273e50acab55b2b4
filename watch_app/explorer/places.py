"""A time as a place among the ids of a table: they rise with time, and none of these times has an index."""

from datetime import datetime, timedelta

from django.db import connection

# Groups that are stored at the same time mix: an id may be this much out of order, and is not.
SLACK = timedelta(minutes=1)

# By halving, in one statement: some two dozen looks at the primary key find the place among millions.
_FIRST_SINCE = """
WITH RECURSIVE halving AS (
    SELECT coalesce((SELECT min(id) FROM {table}), 0) AS low, coalesce((SELECT max(id) FROM {table}), 0) + 1 AS high
    UNION ALL
    SELECT CASE WHEN found.at < %(at)s THEN found.id + 1 ELSE halving.low END,
           CASE WHEN found.at < %(at)s THEN halving.high ELSE (halving.low + halving.high) / 2 END
    FROM halving CROSS JOIN LATERAL (
        SELECT id, {column} AS at FROM {table} WHERE id >= (halving.low + halving.high) / 2 ORDER BY id LIMIT 1
    ) AS found
    WHERE halving.low < halving.high
)
SELECT max(low) FROM halving
"""


def first_id_since(table: str, column: str, at: datetime) -> int:
    """`table` and `column` are names of ours, never words of a request."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRST_SINCE.format(table=table, column=column), {"at": at})
        return int(cursor.fetchone()[0])


def ids_between(table: str, column: str, since: datetime | None, until: datetime | None) -> tuple[int, int | None]:
    """The lowest id, and the one that none may reach; None: no end."""
    low = first_id_since(table, column, since - SLACK) if since else 0
    return low, first_id_since(table, column, until + SLACK) if until else None
