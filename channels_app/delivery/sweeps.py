"""What brings work back when nobody rang: due retries, leases that ran out. Each drains what there is."""

from django.db import connection, transaction

from broker_project.lib.bound import fetch
from channels_app.delivery import deaths
from channels_app.delivery.work import WHO, Work
from channels_app.metrics.activity import count_moved
from channels_app.reasons import Reason

MOST = 1_000
POISON_LOSSES = 10
FOLD_LOCK = 7003
MOST_FOLDED = 50_000

# Retries whose time has come are ready from now on.
_PROMOTE = f"""
WITH due AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE status = 1001 AND next_attempt_at <= now()
    ORDER BY next_attempt_at LIMIT %s::bigint FOR UPDATE SKIP LOCKED
), made AS (
    UPDATE delivery_job SET next_attempt_at = NULL FROM due WHERE delivery_job.id = due.id RETURNING consumer_id
)
SELECT (SELECT count(*) FROM made), NULL::bigint[], work.* FROM ({WHO}) AS work
"""  # noqa: S608

# A lease that ran out while a worker sent the job is a worker lost, not a failure of the consumer; ten in a row, and
# the job is to blame. What a consumer has received and not acknowledged is a matter of its own. Found first, in the
# order of job_in_flight, and ordered by id then: for the first so many by id the planner would go along the primary
# key, past all that is done.
_EXPIRE = f"""
WITH late AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE status = 1002 AND lease_until < now() AND received_at IS NULL
    ORDER BY consumer_id, lease_until LIMIT %s::bigint
), lost AS MATERIALIZED (
    SELECT j.id FROM delivery_job j JOIN late ON late.id = j.id
    WHERE j.status = 1002 AND j.lease_until < now() AND j.received_at IS NULL
    ORDER BY j.id FOR UPDATE OF j SKIP LOCKED
), made AS (
    UPDATE delivery_job SET lease_until = NULL, losses = losses + 1, status_changed_at = now(),
           status = CASE WHEN losses + 1 >= %s::int THEN 1004 ELSE 1001 END,
           reason = CASE WHEN losses + 1 >= %s::int THEN 'poison' ELSE reason END
    FROM lost WHERE delivery_job.id = lost.id RETURNING delivery_job.id, attempt, consumer_id, status
), kept AS (
    INSERT INTO delivery_attempt (job_id, attempt, reason, duration_ms) SELECT id, attempt, 'worker_lost', 0 FROM made
)
SELECT (SELECT count(*) FROM made), (SELECT array_agg(id) FROM made WHERE status = 1004), work.* FROM ({WHO}) AS work
"""  # noqa: S608

_FOLD = """
WITH gone AS (
    DELETE FROM counter_delta WHERE id IN (SELECT id FROM counter_delta ORDER BY id LIMIT %s)
    RETURNING kind, channel_id, consumer_id, status, reason, count
), folded AS (
    INSERT INTO counter AS kept (kind, channel_id, consumer_id, status, reason, count)
    SELECT kind, channel_id, consumer_id, status, reason, sum(count) FROM gone
    GROUP BY kind, channel_id, consumer_id, status, reason ORDER BY kind, channel_id, consumer_id, status, reason
    ON CONFLICT (kind, channel_id, consumer_id, status, reason) DO UPDATE SET count = kept.count + excluded.count
)
SELECT count(*) FROM gone
"""


# By skipping along the index: DISTINCT would read every ready job.
WITH_READY_JOBS = """
WITH RECURSIVE ready AS (
    (SELECT consumer_id FROM delivery_job WHERE status = 1001 AND next_attempt_at IS NULL ORDER BY consumer_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.consumer_id FROM delivery_job j
            WHERE j.status = 1001 AND j.next_attempt_at IS NULL AND j.consumer_id > r.consumer_id
            ORDER BY j.consumer_id LIMIT 1)
    FROM ready r WHERE r.consumer_id IS NOT NULL
)
"""
# Not who has all slots in use: the next answer rings for it.
_READY = """
SELECT ready.consumer_id FROM ready
JOIN consumer ON consumer.id = ready.consumer_id JOIN consumer_state ON consumer_state.consumer_id = consumer.id
JOIN channel_state ON channel_state.channel_id = consumer.channel_id
WHERE consumer.deleted_at IS NULL AND consumer.type = 'push' AND consumer_state.disabled_at IS NULL
  AND consumer_state.paused_at IS NULL AND channel_state.paused_at IS NULL
  AND (consumer_state.breaker_until <= now() OR consumer_state.breaker_until IS NULL OR NOT consumer.circuit_breaker)
  AND consumer_state.slots > (
      SELECT count(*) FROM delivery_job j WHERE j.consumer_id = ready.consumer_id AND j.status = 1002
  )
"""


# Ordered as the index is: else the planner may look for the first one through the whole table.
_HAS_READY = """
SELECT 1 FROM delivery_job WHERE consumer_id = %s::bigint AND status = 1001 AND next_attempt_at IS NULL
ORDER BY priority DESC, id LIMIT 1
"""
_HAS_FREE_SLOT = """
SELECT least(s.slots, coalesce(k.max_in_flight, 100)) > (
    SELECT count(*) FROM delivery_job j WHERE j.consumer_id = k.id AND j.status = 1002
) FROM consumer k JOIN consumer_state s ON s.consumer_id = k.id WHERE k.id = %s::bigint
"""


def consumers_with_ready_jobs() -> list[int]:
    return [row[0] for row in fetch(WITH_READY_JOBS + _READY)]


def has_ready_jobs(consumer_id: int) -> bool:
    return bool(fetch(_HAS_READY, [consumer_id]))


def has_free_slot(consumer_id: int) -> bool:
    return any(row[0] for row in fetch(_HAS_FREE_SLOT, [consumer_id]))


def promote_due() -> Work:
    return _drain("promote_due", _PROMOTE, [MOST])


def take_back_lost() -> Work:
    return _drain("take_back_lost", _EXPIRE, [MOST, POISON_LOSSES, POISON_LOSSES])


def fold_counters() -> None:
    """One process at a time, until there is nothing left to fold."""
    while _fold_some() == MOST_FOLDED:
        pass


def _fold_some() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [FOLD_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_FOLD, [MOST_FOLDED])
        return int(cursor.fetchone()[0])


def _drain(sweep: str, statement: str, parameters: list[int]) -> Work:
    work = Work()
    while True:
        moved, poison, *who = fetch(statement, parameters)[0]
        count_moved(sweep, moved)
        if poison:
            deaths.tell(poison, Reason.POISON)
        work |= Work.of(*who)
        if moved < MOST:
            return work
