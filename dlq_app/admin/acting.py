"""What staff do to letters: each act is one statement a batch, with a line in every letter's history."""

from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction

from channels_app.doorbell import ring_work
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter
from dlq_app.models.dead_letter import DeadLetterQuerySet
from dlq_app.requeue import MOST
from dlq_app.requeue import requeue as requeue_batch

MOST_TIMES = 10
# Within one request; who has more asks again.
MOST_CLEARED = 50_000
_BATCH = 5_000

# Jobs are locked by id, as by everybody: who queues one again at this moment comes first, or finds it discarded.
_DISCARD = """
WITH chosen AS MATERIALIZED (
    SELECT letter.job_id FROM ({letters}) AS letter ORDER BY letter.id LIMIT %s
), held AS MATERIALIZED (
    SELECT j.id FROM delivery_job j JOIN chosen ON chosen.job_id = j.id
    WHERE j.status = 1004 ORDER BY j.id FOR UPDATE OF j
), resolved AS (
    UPDATE dead_letter l SET resolution = 'discarded', resolved_at = now(), resolved_by = %s, note = %s
    FROM held WHERE l.job_id = held.id AND l.resolution IS NULL RETURNING l.job_id, l.attempts
), told AS (
    INSERT INTO dead_letter_act (job_id, act, attempt, by, note)
    SELECT job_id, 'discarded', attempts, %s, %s FROM resolved
)
SELECT (SELECT count(*) FROM chosen), (SELECT count(*) FROM resolved)
"""


@dataclass(frozen=True)
class Done:
    """How many were looked at, and how many of them it was done to."""

    chosen: int
    moved: int


def requeue(letters: DeadLetterQuerySet, *, by: str, note: str) -> Done:
    done = requeue_batch(letters, by=by, note=note, most=MOST, most_times=MOST_TIMES)
    transaction.on_commit(partial(ring_work, done.work))
    return Done(done.chosen, done.moved)


def discard(letters: DeadLetterQuerySet, *, by: str, note: str, most: int = MOST) -> Done:
    """The jobs stay dead; the letters leave lists and counts."""
    sql, parameters = letters.open().order_by().values("job_id", "id").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_DISCARD.format(letters=sql), [*parameters, most, by, note, by, note])
        return Done(*cursor.fetchone())


def clear(*, consumer_id: int, by: str, note: str) -> int:
    """Discards what is open of a consumer now; says how many."""
    letters = LetterFilter(consumer_id=consumer_id).letters().filter(pk__lte=highest_open() or 0)
    cleared = 0
    while cleared < MOST_CLEARED:
        done = discard(letters, by=by, note=note, most=min(_BATCH, MOST_CLEARED - cleared))
        cleared += done.moved
        # Some that were chosen are being queued again at this moment: they are not waited for twice.
        if done.chosen < _BATCH or not done.moved:
            break
    return cleared


def highest_open() -> int | None:
    """What enters later is not meant."""
    return DeadLetter.objects.open().order_by("-pk").values_list("pk", flat=True).first()
