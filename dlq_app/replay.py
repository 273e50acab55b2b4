"""Replay: what a consumer got between two moments is sent to it again, by the same jobs.

A job that was delivered has no index by its consumer or its time; its last try has: tries are numbered as they end.
So the walk is along the tries of all consumers in that time, and finds a job even if its message is much older.
"""

from functools import partial

from channels_app.models import Operation
from channels_app.operations.kinds import Step
from dlq_app.pace import Clock, database_now, paced
from dlq_app.walk import Walk

# Of a job only its last try: it is found once, and not again once it was queued. By the primary keys of both tables.
# A message is held before its job, as by whoever expunges it.
REPLAY = Walk(
    kind="replay",
    last="SELECT coalesce(max(id), 0) FROM delivery_attempt",
    next_at="SELECT a.finished_at FROM delivery_attempt a WHERE a.id >= (low + high + 1) / 2 ORDER BY a.id LIMIT 1",
    looked_at="""
    SELECT a.id, a.job_id, a.attempt, a.reason FROM delivery_attempt a
    WHERE a.id > %(after)s AND a.id <= %(until)s ORDER BY a.id LIMIT %(most_looked_at)s
    """,
    found="""
    SELECT l.id, j.id AS job_id, j.message_id, j.status_changed_at AS at
    FROM looked_at l JOIN delivery_job j ON j.id = l.job_id AND j.attempt = l.attempt
    WHERE l.reason IS NULL AND j.consumer_id = %(consumer_id)s AND j.status = 1003
      AND j.status_changed_at >= %(from)s::timestamptz
      AND (%(to)s::timestamptz IS NULL OR j.status_changed_at < %(to)s::timestamptz)
    ORDER BY l.id LIMIT %(most)s
    """,
    made="""
    kept AS MATERIALIZED (
        SELECT m.id FROM found JOIN message m ON m.id = found.message_id
        WHERE m.expunged_at IS NULL ORDER BY m.id FOR SHARE OF m
    ), held AS MATERIALIZED (
        SELECT j.id FROM found JOIN kept ON kept.id = found.message_id JOIN delivery_job j ON j.id = found.job_id
        WHERE j.status = 1003 ORDER BY j.id FOR UPDATE OF j
    ), made AS (
        UPDATE delivery_job j SET status = 1001, failures = 0, losses = 0, next_attempt_at = NULL, lease_until = NULL,
               expires_at = now() + make_interval(secs => c.max_age_seconds), status_changed_at = now()
        FROM held, consumer k JOIN channel c ON c.id = k.channel_id
        WHERE j.id = held.id AND k.id = %(consumer_id)s AND k.deleted_at IS NULL AND c.deleted_at IS NULL
          AND NOT (k.type = 'pull' AND k.pull_mode = 'index')
        RETURNING j.consumer_id
    )
    """,
)


class Replay:
    name = REPLAY.kind

    def __init__(self, clock: Clock = database_now) -> None:
        self._clock = clock

    def count(self, operation: Operation) -> int | None:
        return REPLAY.count_for(operation).total

    def step(self, operation: Operation) -> Step:
        return paced(operation, self._clock, partial(REPLAY.take, operation))
