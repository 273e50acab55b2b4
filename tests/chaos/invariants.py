"""What must hold after every blow: nothing lost, everything delivered, and twice only what was in flight."""

from collections import Counter

from tests.acceptance.servers import wait_until
from tests.chaos.broker import Broker
from tests.chaos.load import Load

# Leases run out, Celery looks for its Redis again ever more rarely: generous, as nothing here is about speed.
SETTLED_SECONDS = 180.0

_OPEN = """
SELECT (SELECT count(*) FROM message WHERE status = 100),
       (SELECT count(*) FROM delivery_job WHERE status IN (1001, 1002))
"""

# A message whose key points at another row does not count as found.
_STORED = """
SELECT channel.public_id, message.message_id
FROM message JOIN channel ON channel.id = message.channel_id
JOIN message_key ON message_key.row_id = message.id
     AND message_key.channel_id = message.channel_id AND message_key.message_id = message.message_id
WHERE channel.public_id = ANY(%s)
"""
_NOT_IN_A_ROW = """
SELECT channel.public_id FROM message JOIN channel ON channel.id = message.channel_id
WHERE channel.public_id = ANY(%s) GROUP BY channel.public_id
HAVING min(sequence) <> 1 OR max(sequence) <> count(*) OR count(DISTINCT sequence) <> count(*)
"""
_JOBS = """
SELECT channel.public_id, consumer.public_id, message.message_id, job.status, job.failures, job.id
FROM delivery_job job JOIN message ON message.id = job.message_id
JOIN channel ON channel.id = job.channel_id JOIN consumer ON consumer.id = job.consumer_id
WHERE channel.public_id = ANY(%s)
"""
# One statement, so one snapshot: sweeps may fold while it runs.
_MISCOUNTED = """
WITH kept AS (
    SELECT kind, channel_id, consumer_id, status, reason, sum(count) FROM (
        SELECT kind, channel_id, consumer_id, status, reason, count FROM counter
        UNION ALL SELECT kind, channel_id, consumer_id, status, reason, count FROM counter_delta
    ) AS both_parts GROUP BY kind, channel_id, consumer_id, status, reason HAVING sum(count) <> 0
), counted AS (
    SELECT 1, channel_id, 0, status, '', count(*) FROM message GROUP BY channel_id, status
    UNION ALL
    SELECT 2, channel_id, consumer_id, status, coalesce(reason, ''), count(*) FROM delivery_job
    GROUP BY channel_id, consumer_id, status, coalesce(reason, '')
    UNION ALL
    SELECT 3, channel_id, partition, status, '', count(*) FROM scheduled_message GROUP BY channel_id, partition, status
    UNION ALL
    SELECT 4, channel_id, partition, status, '', count(*) FROM delivery_job WHERE partition <> 0
    GROUP BY channel_id, partition, status
    UNION ALL
    SELECT 5, channel_id, consumer_id, CASE WHEN resolution IS NULL THEN 1 ELSE 2 END, reason, count(*)
    FROM dead_letter GROUP BY 2, 3, 4, 5
    UNION ALL
    SELECT 5, j.channel_id, 0, 10 + array_position('{entered,requeued,discarded,edited}', a.act::text), '', count(*)
    FROM dead_letter_act a JOIN delivery_job j ON j.id = a.job_id GROUP BY 2, 4
)
(TABLE kept EXCEPT TABLE counted) UNION ALL (TABLE counted EXCEPT TABLE kept)
"""
_FAILED = """
SELECT job.id, attempt.reason FROM delivery_attempt attempt JOIN delivery_job job ON job.id = attempt.job_id
JOIN channel ON channel.id = job.channel_id
WHERE channel.public_id = ANY(%s) AND attempt.reason IS NOT NULL
"""
DELIVERED = 1003
TIMEOUT = "timeout"


def hold(load: Load) -> None:
    _wait_until_settled(load.broker)
    _everything_is_stored_once(load)
    _everything_was_delivered(load)
    assert load.broker.rows(_MISCOUNTED) == []
    _only_what_was_in_flight_came_twice(load)


def reasons(load: Load) -> set[str]:
    """Of the tries that did not end with success, but for those that a starved machine was too slow for."""
    return {reason for _, reason in _failed(load)} - {TIMEOUT}


def _wait_until_settled(broker: Broker) -> None:
    wait_until(lambda: broker.rows(_OPEN) == [(0, 0)], SETTLED_SECONDS)


def _everything_is_stored_once(load: Load) -> None:
    stored = Counter(load.broker.rows(_STORED, [list(load.channels)]))
    assert stored == Counter(load.accepted)
    assert load.broker.rows(_NOT_IN_A_ROW, [list(load.channels)]) == []


def _everything_was_delivered(load: Load) -> None:
    rows = load.broker.rows(_JOBS, [list(load.channels)])
    wanted = {(channel, k, message) for channel, message in load.accepted for k in load.channels[channel]}
    assert Counter(row[:3] for row in rows) == Counter(wanted)
    assert {row[3] for row in rows} == {DELIVERED}
    assert {delivery[:3] for delivery in load.deliveries()} == wanted
    # The receiver is always well: a failure of another kind would be one of ours, counted as the consumer's.
    assert reasons(load) <= {"worker_lost"}
    assert {row[5]: row[4] for row in rows if row[4]} == _timeouts(load)


def _only_what_was_in_flight_came_twice(load: Load) -> None:
    came = Counter(delivery.job_id for delivery in load.deliveries())
    allowed = Counter(job_id for blow in load.broker.cut_off for job_id in blow) + _timeouts(load)
    assert {job_id: times for job_id, times in came.items() if times > 1 + allowed[job_id]} == {}


def _timeouts(load: Load) -> Counter[int]:
    return Counter(job_id for job_id, reason in _failed(load) if reason == TIMEOUT)


def _failed(load: Load) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in load.broker.rows(_FAILED, [list(load.channels)])]
