"""Letters go back to the queue: a batch in one statement, no row in Python."""

from dataclasses import dataclass

from django.db import connection

from channels_app.delivery.work import WHO, Work
from dlq_app.models.dead_letter import DeadLetterQuerySet

MOST = 1_000

# What cannot be sent any more stays: its message was expunged, its consumer or channel is gone, it was queued again
# often enough, or its consumer polls by index and must seek back. Messages are held first, as by whoever expunges them,
# then jobs by id, as by everybody; then the letters: one that was resolved while we waited for its job is not open any
# more, and one that has entered anew since has another id, and is not meant.
_REQUEUE = """
WITH chosen AS MATERIALIZED (
    SELECT letter.job_id, letter.id FROM ({letters}) AS letter ORDER BY letter.id LIMIT %s
), kept AS MATERIALIZED (
    SELECT m.id FROM message m
    WHERE m.id IN (SELECT j.message_id FROM chosen JOIN delivery_job j ON j.id = chosen.job_id)
      AND m.expunged_at IS NULL ORDER BY m.id FOR SHARE OF m
), held AS MATERIALIZED (
    SELECT j.id, chosen.id AS letter_id FROM chosen JOIN delivery_job j ON j.id = chosen.job_id
    JOIN kept ON kept.id = j.message_id WHERE j.status = 1004 ORDER BY j.id FOR UPDATE OF j
), fit AS MATERIALIZED (
    SELECT j.id, make_interval(secs => c.max_age_seconds) AS age
    FROM held JOIN delivery_job j ON j.id = held.id JOIN dead_letter l ON l.id = held.letter_id
    JOIN consumer k ON k.id = j.consumer_id JOIN channel c ON c.id = j.channel_id
    WHERE l.resolution IS NULL AND l.times <= %s AND k.deleted_at IS NULL
      AND c.deleted_at IS NULL AND NOT (k.type = 'pull' AND k.pull_mode = 'index')
    FOR UPDATE OF l
), made AS (
    UPDATE delivery_job j SET status = 1001, failures = 0, losses = 0, reason = NULL, next_attempt_at = NULL,
           lease_until = NULL, expires_at = now() + fit.age, status_changed_at = now()
    FROM fit WHERE j.id = fit.id RETURNING j.id, j.consumer_id, j.attempt
), resolved AS (
    UPDATE dead_letter l SET resolution = 'requeued', resolved_at = now(), resolved_by = %s, note = %s
    FROM made WHERE l.job_id = made.id
), told AS (
    INSERT INTO dead_letter_act (job_id, act, attempt, by, note) SELECT id, 'requeued', attempt, %s, %s FROM made
)
SELECT (SELECT count(*) FROM chosen), (SELECT max(id) FROM chosen), (SELECT count(*) FROM made), work.*
FROM ({who}) AS work
"""


@dataclass(frozen=True)
class Requeued:
    """How many letters were looked at, the last of them, how many went back, and who has work now."""

    chosen: int
    last_id: int | None
    moved: int
    work: Work


def requeue(letters: DeadLetterQuerySet, *, by: str, note: str = "", most: int = MOST, most_times: int) -> Requeued:
    """The first of these open letters. `most_times`: one that has entered more often stays."""
    sql, parameters = letters.open().order_by().values("job_id", "id").query.sql_with_params()
    statement = _REQUEUE.format(letters=sql, who=WHO)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*parameters, most, most_times, by, note, by, note])
        chosen, last_id, moved, *who = cursor.fetchone()
    return Requeued(chosen, last_id, moved, Work.of(*who))
