"""Jobs that end without a try: they waited too long, or there is nobody to send them to any more."""

from typing import Any

from django.db import connection

from channels_app.delivery import deaths
from channels_app.delivery.sweeps import MOST, WITH_READY_JOBS
from channels_app.reasons import Reason

# Of each consumer and priority only the oldest are looked at: what comes after them is younger. Not of one that polls
# by index: to it a channel is a log, which has no holes.
_EXPIRE_OLD = """
WITH RECURSIVE line AS (
    (SELECT consumer_id, priority, 1 AS number FROM delivery_job WHERE status = 1001 AND next_attempt_at IS NULL
     ORDER BY consumer_id, priority DESC LIMIT 1)
    UNION ALL
    SELECT following.consumer_id, following.priority, l.number + 1 FROM line l CROSS JOIN LATERAL (
        (SELECT j.consumer_id, j.priority FROM delivery_job j
         WHERE j.status = 1001 AND j.next_attempt_at IS NULL
           AND j.consumer_id = l.consumer_id AND j.priority < l.priority ORDER BY j.priority DESC LIMIT 1)
        UNION ALL
        (SELECT j.consumer_id, j.priority FROM delivery_job j
         WHERE j.status = 1001 AND j.next_attempt_at IS NULL AND j.consumer_id > l.consumer_id
         ORDER BY j.consumer_id, j.priority DESC LIMIT 1)
        LIMIT 1
    ) AS following
    WHERE l.number < %(lines)s
), old AS MATERIALIZED (
    SELECT j.id FROM line JOIN consumer k ON k.id = line.consumer_id CROSS JOIN LATERAL (
        SELECT id, expires_at FROM delivery_job o
        WHERE o.consumer_id = line.consumer_id AND o.priority = line.priority
          AND o.status = 1001 AND o.next_attempt_at IS NULL ORDER BY o.id LIMIT %(window)s
    ) AS oldest JOIN delivery_job j ON j.id = oldest.id
    WHERE oldest.expires_at <= now() AND j.status = 1001 AND NOT (k.type = 'pull' AND k.pull_mode = 'index')
    ORDER BY j.id FOR UPDATE OF j SKIP LOCKED
)
UPDATE delivery_job SET status = 1004, reason = 'expired', next_attempt_at = NULL, status_changed_at = now()
FROM old WHERE delivery_job.id = old.id RETURNING delivery_job.id
"""
WINDOW = 100
# Past so many lines (a consumer and a priority each) the rest is found when it is claimed, and not sent either.
LINES = 10_000

# Those with a ttl of their own may end before older ones; they have an index (job_with_ttl), in whose order they are
# found. Whoever polls by index does not get them either.
_EXPIRE_TTL = """
WITH late AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE status = 1001 AND has_ttl AND expires_at <= now()
    ORDER BY expires_at LIMIT %(most)s
), old AS MATERIALIZED (
    SELECT j.id FROM delivery_job j JOIN late ON late.id = j.id
    WHERE j.status = 1001 AND j.expires_at <= now() ORDER BY j.id FOR UPDATE OF j SKIP LOCKED
)
UPDATE delivery_job SET status = 1004, reason = 'expired', next_attempt_at = NULL, status_changed_at = now()
FROM old WHERE delivery_job.id = old.id RETURNING delivery_job.id
"""

# A consumer that was deleted asks for nothing more, nor does one whose channel was. With ready jobs it is found by
# skipping along their index; jobs that wait for a retry are looked through for those deleted a moment ago, and any
# that slips through is found when it is promoted.
_GONE = """
SELECT consumer.id, CASE WHEN channel.deleted_at IS NULL THEN 'consumer_gone' ELSE 'channel_gone' END
FROM consumer JOIN channel ON channel.id = consumer.channel_id
WHERE consumer.deleted_at > now() - interval '1 minute'
   OR consumer.deleted_at IS NOT NULL AND consumer.id IN (SELECT consumer_id FROM ready)
   OR consumer.deleted_at IS NOT NULL AND consumer.id IN (SELECT consumer_id FROM busy)
"""
# The same for what is in flight.
_WITH_BUSY = """
, busy AS (
    (SELECT consumer_id FROM delivery_job WHERE status = 1002 ORDER BY consumer_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.consumer_id FROM delivery_job j WHERE j.status = 1002 AND j.consumer_id > b.consumer_id
            ORDER BY j.consumer_id LIMIT 1)
    FROM busy b WHERE b.consumer_id IS NOT NULL
)
"""
_OPEN = """
WITH open AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS {kind}
    LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
UPDATE delivery_job SET status = 1004, reason = %(reason)s, next_attempt_at = NULL, status_changed_at = now()
FROM open WHERE delivery_job.id = open.id RETURNING delivery_job.id
"""
# What it has received and not acknowledged: nobody can do so any more. The history keeps that somebody had it.
_BURY_HELD = """
WITH open AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002 AND received_at IS NOT NULL
    LIMIT %(most)s FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE delivery_job SET status = 1004, reason = %(reason)s, lease_until = NULL, status_changed_at = now()
    FROM open WHERE delivery_job.id = open.id
    RETURNING delivery_job.id, attempt, delivery_job.reason, received_at, device_id
), kept AS (
    INSERT INTO delivery_attempt (job_id, attempt, reason, duration_ms, device_id)
    SELECT id, attempt, reason,
           greatest(0, least(2147483647, extract(epoch FROM now() - received_at) * 1000))::int, device_id
    FROM moved
)
SELECT id FROM moved
"""
_BURY_READY, _BURY_WAITING = _OPEN.format(kind="NULL"), _OPEN.format(kind="NOT NULL")


def expire_old() -> int:
    """Whatever holds them up: a breaker, a pause, a consumer that does not ask."""
    short_lived = _repeat(_EXPIRE_TTL, {"most": MOST}, Reason.EXPIRED)
    return short_lived + _repeat(_EXPIRE_OLD, {"window": WINDOW, "lines": LINES}, Reason.EXPIRED)


def bury_gone() -> int:
    """In batches; what one of our workers has in flight ends by itself."""
    with connection.cursor() as cursor:
        cursor.execute(WITH_READY_JOBS + _WITH_BUSY + _GONE)
        gone = [{"consumer": who, "reason": reason, "most": MOST} for who, reason in cursor.fetchall()]
    statements = (_BURY_READY, _BURY_WAITING, _BURY_HELD)
    return sum(_repeat(statement, one, Reason(one["reason"])) for one in gone for statement in statements)


def _repeat(statement: str, parameters: dict[str, Any], reason: Reason) -> int:
    """Until it finds nothing; returns how many it moved."""
    moved = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            ended = [row[0] for row in cursor.fetchall()]
        if not ended:
            return moved
        deaths.tell(ended, reason)
        moved += len(ended)
