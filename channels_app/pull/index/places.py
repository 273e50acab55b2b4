"""Where a consumer stands in its channel. Who moves it holds its row first: calls of one consumer come one by one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import structlog
from psycopg import AsyncConnection
from psycopg.rows import class_row

from channels_app.errors import UnknownConsumer
from channels_app.reasons import Reason

log = structlog.get_logger(__name__)

# A connection for a batch: between batches it is somebody else's.
Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection]]

# How many messages are looked through at once for one that is not dead.
STRIDE = 5_000

# The messages after one index and up to another. In the order of their index, with a limit: of a channel younger
# than its statistics the planner would read all messages, and throw away those with other indexes.
ASKED = """
SELECT id, sequence FROM message WHERE channel_id = %(channel)s AND sequence > %(after)s AND sequence <= %(until)s
ORDER BY sequence LIMIT greatest(0, %(until)s - %(after)s)
"""

# A statement of its own: the next one's snapshot is taken when it is our turn, and sees what the one before committed.
_HOLD = "SELECT FROM consumer_state WHERE consumer_id = %s FOR UPDATE"

# `acked` is as the jobs are now. The walk from the old one to the first open job is long only if it moves as far.
_LOOK = """
SELECT k.id AS consumer_id, k.channel_id, s.sent_index AS sent, cs.last_sequence AS last, k.unacked_cap AS cap,
       CASE WHEN s.disabled_at IS NOT NULL THEN 'disabled'
            WHEN s.paused_at IS NOT NULL OR cs.paused_at IS NOT NULL THEN 'paused' END AS stopped,
       coalesce((
           SELECT m.sequence - 1 FROM message m JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = k.id
           WHERE m.channel_id = k.channel_id AND m.sequence > s.acked_index AND m.sequence <= s.sent_index
             AND j.status IN (1001, 1002)
           ORDER BY m.sequence LIMIT 1
       ), s.sent_index) AS acked
FROM consumer k JOIN channel c ON c.id = k.channel_id JOIN consumer_state s ON s.consumer_id = k.id
JOIN channel_state cs ON cs.channel_id = k.channel_id
WHERE k.id = %s AND k.type = 'pull' AND k.pull_mode = 'index' AND k.deleted_at IS NULL AND c.deleted_at IS NULL
"""

# Of a message m and its job j, if it has one: its own time to live is over. (That of its channel counts for nobody who
# polls: to it a channel is a log.)
IS_OVER = """coalesce(
    CASE WHEN j.id IS NULL THEN m.received_at + make_interval(secs => m.ttl_seconds)
         WHEN j.has_ttl THEN j.expires_at END <= now(), false)"""

# The first message after `sent` that can be handed out. One without a job can: its job is made when it is polled.
_FIRST_ALIVE = f"""
SELECT m.sequence FROM message m LEFT JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
WHERE m.channel_id = %(channel)s AND m.sequence > %(after)s AND m.sequence <= %(until)s
  AND m.expunged_at IS NULL AND (j.id IS NULL OR j.status <> 1004) AND NOT {IS_OVER}
ORDER BY m.sequence LIMIT 1
"""  # noqa: S608

# Open jobs of what is over are dead; what has no job gets a dead one.
_BURY = f"""
WITH asked AS MATERIALIZED (
    {ASKED}
), over AS MATERIALIZED (
    SELECT m.id, m.sequence, m.priority, m.partition, j.id AS job_id
    FROM asked JOIN message m ON m.id = asked.id
    LEFT JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
    WHERE m.expunged_at IS NULL AND (j.id IS NULL OR j.status IN (1001, 1002)) AND {IS_OVER}
), had AS MATERIALIZED (
    SELECT j.id FROM over JOIN delivery_job j ON j.id = over.job_id WHERE j.status IN (1001, 1002)
    ORDER BY j.id FOR UPDATE OF j
), made AS (
    INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, status, reason, expires_at,
                              has_ttl)
    SELECT id, %(channel)s, %(consumer)s, priority, partition, 1004, 'expired', now(), true
    FROM over WHERE job_id IS NULL ORDER BY sequence RETURNING id
), moved AS (
    UPDATE delivery_job j SET status = 1004, reason = 'expired', next_attempt_at = NULL, lease_until = NULL,
           status_changed_at = now()
    FROM had WHERE j.id = had.id RETURNING j.id
)
SELECT id FROM made UNION ALL SELECT id FROM moved
"""  # noqa: S608

_KEEP = """
UPDATE consumer_state SET acked_index = %(acked)s, sent_index = %(sent)s
WHERE consumer_id = %(consumer)s AND (acked_index, sent_index) IS DISTINCT FROM (%(acked)s, %(sent)s)
"""


@dataclass(frozen=True)
class Place:
    """The indexes of a consumer, the channel's last one, and what keeps messages from being handed out."""

    consumer_id: int
    channel_id: int
    acked: int
    sent: int
    last: int
    cap: int
    stopped: str | None = None

    @property
    def ceiling(self) -> int:
        """The last index that may be handed out now."""
        return min(self.acked + self.cap, self.last)

    @property
    def ids(self) -> dict[str, Any]:
        return {"consumer": self.consumer_id, "channel": self.channel_id}


async def hold(connection: AsyncConnection, consumer_id: int) -> Place:
    """In a transaction. A consumer that is gone, or polls no more since a moment ago, is unknown."""
    await connection.execute(_HOLD, (consumer_id,))
    return await look(connection, consumer_id)


async def look(connection: AsyncConnection, consumer_id: int) -> Place:
    async with connection.cursor(row_factory=class_row(Place)) as cursor:
        await cursor.execute(_LOOK, (consumer_id,))
        place = await cursor.fetchone()
    if place is None:
        raise UnknownConsumer
    return place


async def keep(connection: AsyncConnection, place: Place) -> None:
    await connection.execute(_KEEP, {**place.ids, "acked": place.acked, "sent": place.sent})


async def pass_over_dead(connection: AsyncConnection, place: Place) -> Place:
    """The place right before a message that can be handed out, if there is one within reach."""
    while True:
        is_clear = place.acked == place.sent
        until = min(place.sent + STRIDE, place.last if is_clear else place.ceiling)
        if until <= place.sent:
            return place
        alive = await _first_alive(connection, place, until)
        sent = until if alive is None else alive - 1
        place = replace(place, sent=sent, acked=sent if is_clear else place.acked)
        if alive is not None:
            return place


async def bury_over(connection: AsyncConnection, place: Place, *, until: int) -> None:
    """What lies between a place and an index, and is not handed out because its time to live is over, is dead."""
    cursor = await connection.execute(_BURY, {**place.ids, "after": place.sent, "until": until})
    if dead := [row[0] for row in await cursor.fetchall()]:
        log.warning("delivery.dead", consumer_id=place.consumer_id, jobs=dead, reason=Reason.EXPIRED.value)


async def _first_alive(connection: AsyncConnection, place: Place, until: int) -> int | None:
    cursor = await connection.execute(_FIRST_ALIVE, {**place.ids, "after": place.sent, "until": until})
    row = await cursor.fetchone()
    return int(row[0]) if row else None
