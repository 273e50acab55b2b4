"""A word to a consumer that asks: there is work. A hint like any ring: not tried again, and its answer is ignored.

The consumer's row decides who may send one, so that there is at most one a second, whatever processes there are.
"""

import asyncio
import json
import uuid
from dataclasses import dataclass, field

import aiohttp
import structlog
from psycopg import AsyncConnection
from psycopg.rows import class_row
from psycopg_pool import AsyncConnectionPool

from broker_project.lib.bound import fetch
from channels_app.delivery.target import Addressee
from channels_app.delivery.webhook import send_note

log = structlog.get_logger(__name__)

# A little more than a second: the way of one may be slower than the way of the next.
GAP_SECONDS = 1.1
SEND_SECONDS = 5.0
# How far behind `acked` a poller's first open job is looked for.
REACH = 1_000

_WAIT = """
SELECT extract(epoch FROM notified_at - now())::float8 + %s FROM consumer_state
WHERE consumer_id = %s AND notified_at IS NOT NULL
"""

# The count is from counters. The first open job: of one that polls, by the sequence from where it stands; of one that
# leases, the first of each priority that is ready, and the first in flight (OFFSET 0: else the planner walks along all
# jobs ever made). One that waits for a retry is no work yet.
_READ = """
WITH RECURSIVE who AS MATERIALIZED (
    SELECT k.id AS consumer_id, k.channel_id, k.public_id AS consumer, c.public_id AS channel, k.callback_url,
           k.token AS sealed_token, k.signing_secret AS sealed_secret,
           CASE WHEN k.previous_secret_until > now() THEN k.previous_secret END AS sealed_previous_secret,
           k.pull_mode = 'index' AS is_poller, s.acked_index
    FROM consumer k JOIN channel c ON c.id = k.channel_id JOIN consumer_state s ON s.consumer_id = k.id
    JOIN channel_state cs ON cs.channel_id = c.id
    WHERE k.id = %(consumer)s AND k.type = 'pull' AND k.callback_url <> '' AND k.deleted_at IS NULL
      AND c.deleted_at IS NULL AND s.disabled_at IS NULL AND s.paused_at IS NULL AND cs.paused_at IS NULL
), line AS (
    (SELECT priority, id, message_id FROM delivery_job
     WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL ORDER BY priority DESC, id LIMIT 1)
    UNION ALL
    SELECT following.* FROM line CROSS JOIN LATERAL (
        SELECT j.priority, j.id, j.message_id FROM delivery_job j
        WHERE j.consumer_id = %(consumer)s AND j.status = 1001 AND j.next_attempt_at IS NULL
          AND j.priority < line.priority ORDER BY j.priority DESC, j.id LIMIT 1
    ) AS following
), in_flight AS (
    SELECT message_id FROM (
        SELECT id, message_id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1002 OFFSET 0
    ) AS held ORDER BY id LIMIT 1
)
SELECT consumer_id, consumer, channel, callback_url, sealed_token, sealed_secret, sealed_previous_secret,
       (SELECT coalesce(sum(count), 0)::bigint FROM (
            SELECT count FROM counter WHERE kind = 2 AND channel_id = who.channel_id
               AND consumer_id = who.consumer_id AND status IN (1001, 1002)
            UNION ALL
            SELECT count FROM counter_delta WHERE kind = 2 AND channel_id = who.channel_id
               AND consumer_id = who.consumer_id AND status IN (1001, 1002)
       ) AS counted) AS count,
       CASE WHEN is_poller THEN coalesce((
           SELECT m.sequence FROM message m JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
           WHERE m.channel_id = who.channel_id AND m.sequence > who.acked_index
             AND m.sequence <= who.acked_index + %(reach)s AND j.status IN (1001, 1002) ORDER BY m.sequence LIMIT 1
       ), who.acked_index + 1) ELSE (
           SELECT min(m.sequence) FROM message m
           WHERE m.id IN (SELECT message_id FROM line UNION ALL SELECT message_id FROM in_flight)
       ) END AS lowest
FROM who
"""

_TAKE_TURN = """
UPDATE consumer_state SET notified_at = now()
WHERE consumer_id = %s AND (notified_at IS NULL OR notified_at <= now() - make_interval(secs => %s))
RETURNING consumer_id
"""


@dataclass(frozen=True)
class Note(Addressee):
    """What there is for a consumer: how many jobs are open, and the index of the first."""

    count: int
    lowest: int | None

    @property
    def body(self) -> bytes:
        told = {
            "channel": self.channel,
            "consumer": self.consumer,
            "lowestUnackedIndex": self.lowest,
            "count": self.count,
        }
        return json.dumps(told).encode()


def seconds_to_wait(consumer_id: int) -> float:
    """Until the next may be sent; 0: now."""
    rows = fetch(_WAIT, (GAP_SECONDS, consumer_id))
    return max(0.0, rows[0][0]) if rows else 0.0


@dataclass
class Notifier:
    """One per worker process, on its event loop. Nobody waits for an answer."""

    pool: AsyncConnectionPool
    session: aiohttp.ClientSession
    under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def notify(self, consumer_id: int) -> bool:
        """False: another was sent a moment ago, and this one's time is to come."""
        async with self.pool.connection() as connection:
            note = await read_note(connection, consumer_id)
            if note is None:
                return True
            if not await take_turn(connection, consumer_id):
                return False
        task = asyncio.create_task(self._send(note))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return True

    async def stop(self) -> None:
        for task in self.under_way:
            task.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)

    async def _send(self, note: Note) -> None:
        note_id = f"note-{uuid.uuid4().hex}"
        came_to = await send_note(self.session, note, note_id=note_id, body=note.body, seconds=SEND_SECONDS)
        log.info("consumer.notified", channel=note.channel, consumer=note.consumer, count=note.count, answer=came_to)


async def read_note(connection: AsyncConnection, consumer_id: int) -> Note | None:
    """None: there is nothing to tell, or nobody to be told."""
    async with connection.cursor(row_factory=class_row(Note)) as cursor:
        await cursor.execute(_READ, {"consumer": consumer_id, "reach": REACH})
        note = await cursor.fetchone()
    return note if note and note.count > 0 else None


async def take_turn(connection: AsyncConnection, consumer_id: int) -> bool:
    cursor = await connection.execute(_TAKE_TURN, (consumer_id, GAP_SECONDS))
    return await cursor.fetchone() is not None
