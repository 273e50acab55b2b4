"""A queue is emptied: items end as expired before their time, which no dead queue hears of.

Each call is one batch, so that others come in between, and says whether there may be more. What was produced after the
beginning stays: a queue that is filled faster than it is emptied would else be cleared for ever.
"""

from typing import NamedTuple

from broker_project.lib.bound import fetch
from channels_app.delivery import deaths
from channels_app.reasons import Reason
from scheduling_app.querator.queues import QueueInfo

MOST = 1_000
CLEARED = "The queue was cleared."

# Locked rows are somebody's who changes them at this moment: what is being leased is not cleared. By arrays: of a queue
# that is younger than the statistics the planner would expect one row, and read the whole table for each of them.
_CLEAR = """
WITH found AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND {kind} AND id <= %(newest)s LIMIT %(most)s
), held AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE id = ANY (ARRAY(SELECT id FROM found)) AND {kind}
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE delivery_job SET status = 1004, reason = 'expired', next_attempt_at = NULL, lease_until = NULL,
       expires_at = greatest(expires_at, now() + interval '1 second'), status_changed_at = now()
WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING id
"""
_READY = _CLEAR.format(kind="status = 1001 AND next_attempt_at IS NULL")
_RETRIED = _CLEAR.format(kind="status = 1001 AND next_attempt_at IS NOT NULL")
_LEASED = _CLEAR.format(kind="status = 1002")
_LATER = """
WITH waiting AS MATERIALIZED (
    SELECT id FROM scheduled_message WHERE channel_id = %(channel)s AND status = 100 AND id <= %(newest)s
    ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
UPDATE scheduled_message s SET status = 102, reason = 'cleared', status_changed_at = now()
FROM waiting WHERE s.id = waiting.id RETURNING s.id
"""
_NEWEST = """
SELECT jobs.last_value, later.last_value FROM delivery_job_id_seq AS jobs, scheduled_message_id_seq AS later
"""


class Newest(NamedTuple):
    """Ids that were given when the clearing began."""

    job_id: int
    later_id: int


def newest() -> Newest:
    return Newest(*fetch(_NEWEST)[0])


def clear_line(queue: QueueInfo, until: Newest) -> bool:
    """What waits in line, not what is leased."""
    return _end(_READY, queue, until)


def clear_leased(queue: QueueInfo, until: Newest) -> bool:
    """Who has them can say nothing of them any more."""
    return _end(_LEASED, queue, until)


def clear_later(queue: QueueInfo, until: Newest) -> bool:
    """What was produced for a time to come."""
    return bool(fetch(_LATER, {"channel": queue.channel.pk, "most": MOST, "newest": until.later_id}))


def clear_retried(queue: QueueInfo, until: Newest) -> bool:
    """What was retried at a time to come."""
    return _end(_RETRIED, queue, until)


def _end(statement: str, queue: QueueInfo, until: Newest) -> bool:
    asked = {"consumer": queue.consumer.pk, "most": MOST, "newest": until.job_id}
    ended = [row[0] for row in fetch(statement, asked)]
    if ended:
        deaths.tell(ended, Reason.EXPIRED, CLEARED)
    return bool(ended)
