"""Letters that nobody needs any more: a batch in one statement, no row in Python."""

from dataclasses import dataclass

from django.db import connection

from dlq_app.models.dead_letter import DeadLetterQuerySet

MOST = 1_000

# Jobs are locked first and by id, as by everybody who resolves letters; they stay DEAD. A letter that has entered anew
# meanwhile has another id, and is not meant.
_DISCARD = """
WITH chosen AS MATERIALIZED (
    SELECT letter.job_id, letter.id FROM ({letters}) AS letter ORDER BY letter.id LIMIT %s
), held AS MATERIALIZED (
    SELECT j.id, chosen.id AS letter_id FROM delivery_job j JOIN chosen ON chosen.job_id = j.id
    WHERE j.status = 1004 ORDER BY j.id FOR UPDATE OF j
), made AS (
    UPDATE dead_letter l SET resolution = 'discarded', resolved_at = now(), resolved_by = %s, note = %s
    FROM held WHERE l.id = held.letter_id AND l.resolution IS NULL RETURNING l.job_id, l.attempts
), told AS (
    INSERT INTO dead_letter_act (job_id, act, attempt, by, note) SELECT job_id, 'discarded', attempts, %s, %s FROM made
)
SELECT (SELECT count(*) FROM chosen), (SELECT max(id) FROM chosen), (SELECT count(*) FROM made)
"""


@dataclass(frozen=True)
class Discarded:
    """How many letters were looked at, the last of them, and how many are resolved now."""

    chosen: int
    last_id: int | None
    moved: int


def discard(letters: DeadLetterQuerySet, *, by: str, note: str = "", most: int = MOST) -> Discarded:
    """The first of these open letters."""
    sql, parameters = letters.open().order_by().values("job_id", "id").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_DISCARD.format(letters=sql), [*parameters, most, by, note, by, note])
        return Discarded(*cursor.fetchone())
