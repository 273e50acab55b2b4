"""What open letters died of, in groups: letters with one fingerprint have one cause."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from dlq_app.filters import LetterFilter

# Groups are of the newest so many: a cause that counts is among them.
LOOKED_AT = 10_000
MOST_CAUSES = 50

_CAUSES = """
WITH chosen AS MATERIALIZED (
    SELECT * FROM ({letters}) AS letter ORDER BY letter.id DESC LIMIT %s
), cause AS MATERIALIZED (
    SELECT fingerprint, count(*) AS count, max(id) AS newest, min(entered_at) AS first_at, max(entered_at) AS last_at,
           sum(count(*)) OVER () AS looked_at
    FROM chosen GROUP BY fingerprint ORDER BY count(*) DESC, max(id) DESC LIMIT %s
)
SELECT cause.fingerprint, sample.reason, sample.error, cause.count, cause.first_at, cause.last_at, looked_at
FROM cause JOIN dead_letter sample ON sample.id = cause.newest ORDER BY cause.count DESC, cause.newest DESC
"""


@dataclass(frozen=True)
class Cause:
    """How many letters, what the newest says, and when the first and the last came in."""

    fingerprint: int
    reason: str
    error: str
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True)
class Causes:
    """Those that explain most letters first. `looked_at`: of how many letters, the newest."""

    found: list[Cause]
    looked_at: int

    @property
    def is_complete(self) -> bool:
        return self.looked_at < LOOKED_AT


def causes(chosen: LetterFilter) -> Causes:
    sql, parameters = chosen.letters().values("id", "fingerprint", "entered_at").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_CAUSES.format(letters=sql), [*parameters, LOOKED_AT, MOST_CAUSES])
        rows = cursor.fetchall()
    return Causes([Cause(*row[:-1]) for row in rows], int(rows[0][-1]) if rows else 0)
