"""Deliver what was missed: messages that came while a consumer was disabled, or not there yet, get a job for it."""

from functools import partial

from broker_project.lib.bound import fetch
from channels_app.models import Operation
from channels_app.operations.kinds import Step
from dlq_app.pace import Clock, database_now, paced
from dlq_app.walk import Walk

# With a consumer's id: two that look at once would both find nothing, and both make a job.
TURN_LOCK = 7_007 << 40

# Along message_by_channel; whether there is a job is asked by job_by_message, message by message. NOT EXISTS would be
# planned as a join with all jobs of the consumer: by statistics it has none, but the operation is making them.
# What waits for fan-out is not missed: it is dispatched in the transaction that makes its jobs. Nor is a letter that
# was edited and sent again, which is meant for its consumer only, and has no place in the channel's sequence.
# A message is held, as it may be about to be expunged.
MISSED = Walk(
    kind="deliver_missed",
    last="SELECT coalesce(max(id), 0) FROM message WHERE channel_id = %(channel_id)s",
    next_at="""
    SELECT m.received_at FROM message m
    WHERE m.channel_id = %(channel_id)s AND m.id >= (low + high + 1) / 2 ORDER BY m.id LIMIT 1
    """,
    looked_at="""
    SELECT m.id, m.received_at, m.status, m.sequence, m.expunged_at, m.priority, m.partition FROM message m
    WHERE m.channel_id = %(channel_id)s AND m.id > %(after)s AND m.id <= %(until)s
    ORDER BY m.id LIMIT %(most_looked_at)s
    """,
    found="""
    SELECT l.id, l.id AS message_id, l.received_at AS at, l.priority, l.partition FROM looked_at l
    WHERE l.status = 101 AND l.sequence IS NOT NULL AND l.expunged_at IS NULL AND l.received_at >= %(from)s::timestamptz
      AND (%(to)s::timestamptz IS NULL OR l.received_at < %(to)s::timestamptz)
      AND (SELECT j.id FROM delivery_job j WHERE j.message_id = l.id AND j.consumer_id = %(consumer_id)s LIMIT 1)
          IS NULL
    ORDER BY l.id LIMIT %(most)s
    """,
    made="""
    kept AS MATERIALIZED (
        SELECT m.id, m.received_at + make_interval(secs => m.ttl_seconds) AS ends_at
        FROM found JOIN message m ON m.id = found.id
        WHERE m.expunged_at IS NULL ORDER BY m.id FOR SHARE OF m
    ), made AS (
        INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, expires_at, has_ttl)
        SELECT found.id, c.id, k.id, found.priority, found.partition,
               least(now() + make_interval(secs => c.max_age_seconds), kept.ends_at),
               nullif(kept.ends_at IS NOT NULL, false)
        FROM found JOIN kept ON kept.id = found.id CROSS JOIN consumer k JOIN channel c ON c.id = k.channel_id
        WHERE k.id = %(consumer_id)s AND k.deleted_at IS NULL AND c.deleted_at IS NULL
          AND NOT (k.type = 'pull' AND k.pull_mode = 'index')
        ORDER BY found.id RETURNING consumer_id
    )
    """,
)


class DeliverMissed:
    name = MISSED.kind

    def __init__(self, clock: Clock = database_now) -> None:
        self._clock = clock

    def count(self, operation: Operation) -> int | None:
        return MISSED.count_for(operation).total

    def step(self, operation: Operation) -> Step:
        """The turn is taken by a statement of its own, so that the next one sees what was made before it."""
        fetch("SELECT pg_advisory_xact_lock(%s::bigint)", [TURN_LOCK + operation.parameters["consumer_id"]])
        return paced(operation, self._clock, partial(MISSED.take, operation))
