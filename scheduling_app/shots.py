"""Jobs that run once become messages for later, a group in one transaction.

A name stands for one job at a time. Of those that run once the database itself sees to that; a name that is a recurring
schedule is looked up. So that no two of different kinds are made at once, an application's jobs have a lock: those who
store what is new share it, who replaces something or makes a schedule has it alone.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from broker_project.lib.pg_arrays import Bigints, Byteas, Integers, Texts
from scheduling_app.accept import Later

# Above the keys of sweeps, turns and lanes.
JOBS_LOCK = 7_008 << 40
# One after the other, as they stand, so that two groups cannot wait for each other.
_LOCK = """
SELECT CASE WHEN alone = 1 THEN pg_advisory_xact_lock(key)::text ELSE pg_advisory_xact_lock_shared(key)::text END
FROM unnest(%(keys)s, %(alone)s) AS lock (key, alone)
"""

# In the order of their names, so that two groups cannot wait for each other. Message ids are of our making, and new.
_STORE = """
WITH arrived AS MATERIALIZED (
    SELECT nextval('scheduled_message_id_seq'::regclass) AS id, item.*
    FROM unnest(
        %(channels)s, %(producers)s, %(message_ids)s, %(payloads)s, %(content_types)s, %(headers)s, %(partitions)s,
        %(asked)s, %(due)s, %(ttls)s, %(names)s, %(jobs)s
    ) WITH ORDINALITY AS item
        (channel_id, producer_id, message_id, payload, content_type, headers, partition, asked, due, ttl, job_name, job,
         place)
    ORDER BY place
), stored AS (
    INSERT INTO scheduled_message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, scheduled_for,
         due_at, ttl_seconds, job_name, job)
    OVERRIDING SYSTEM VALUE
    SELECT id, channel_id, producer_id, message_id, payload, content_type, 0, headers::jsonb, partition,
           'epoch'::timestamptz + asked / 1000000 * interval '1 second' + asked %% 1000000 * interval '1 microsecond',
           'epoch'::timestamptz + due / 1000000 * interval '1 second' + due %% 1000000 * interval '1 microsecond',
           nullif(ttl, 0), job_name, job::jsonb
    FROM arrived
    WHERE NOT EXISTS (
        SELECT FROM recurring_schedule r WHERE r.channel_id = arrived.channel_id AND r.public_id = arrived.job_name
          AND r.deleted_at IS NULL AND r.next_at IS NOT NULL
    )
    ORDER BY channel_id, job_name, place
    ON CONFLICT (channel_id, job_name) WHERE status = 100 AND job_name IS NOT NULL DO NOTHING
    RETURNING id, channel_id, message_id
), keyed AS (
    INSERT INTO message_key (channel_id, message_id, row_id, scheduled)
    SELECT channel_id, message_id, id, true FROM stored ORDER BY channel_id, message_id
)
SELECT arrived.place FROM arrived JOIN stored USING (id)
"""

# What is being dispatched is waited for, and has gone. Another producer's is not touched, nor what is no job.
_CLEAR = """
WITH named AS (
    SELECT * FROM unnest(%(channels)s, %(names)s, %(producers)s) AS item (channel_id, name, producer_id)
), waiting AS MATERIALIZED (
    SELECT s.id FROM scheduled_message s JOIN named
      ON s.channel_id = named.channel_id AND s.job_name = named.name AND s.producer_id = named.producer_id
    WHERE s.status = 100 ORDER BY s.id FOR UPDATE OF s
), ticking AS MATERIALIZED (
    SELECT r.id FROM recurring_schedule r JOIN named
      ON r.channel_id = named.channel_id AND r.public_id = named.name AND r.producer_id = named.producer_id
    WHERE r.deleted_at IS NULL AND r.job IS NOT NULL ORDER BY r.id FOR UPDATE OF r
), cancelled AS (
    UPDATE scheduled_message s SET status = 102, reason = 'overwritten', status_changed_at = now()
    FROM waiting WHERE s.id = waiting.id AND s.status = 100
)
UPDATE recurring_schedule r SET deleted_at = now(), next_at = NULL FROM ticking WHERE r.id = ticking.id
"""


class Shot(NamedTuple):
    """A job that runs once, and has passed the door."""

    later: Later
    name: str
    asked: dict[str, Any]
    overwrite: bool

    @property
    def size(self) -> int:
        return self.later.size

    @property
    def key(self) -> tuple[int, str]:
        return self.later.message.channel_id, self.name


async def store_shots(connection: AsyncConnection, shots: Sequence[Shot]) -> list[bool]:
    """Says of each whether it is stored (False: its name is another job's)."""
    outcomes = dict.fromkeys(range(len(shots)), False)
    async with connection.transaction():
        await _lock(connection, shots)
        waiting = list(range(len(shots)))
        while waiting:
            # Of one name, one after the other.
            turn = {shots[place].key: place for place in reversed(waiting)}
            places = sorted(turn.values())
            outcomes |= dict(zip(places, await _store(connection, [shots[place] for place in places]), strict=True))
            waiting = sorted(set(waiting) - set(places))
    return list(outcomes.values())


async def _lock(connection: AsyncConnection, shots: Iterable[Shot]) -> None:
    channels: dict[int, bool] = {}
    for shot in shots:
        channel_id = shot.later.message.channel_id
        channels[channel_id] = channels.get(channel_id, False) or shot.overwrite
    ordered = sorted(channels.items())
    keys, alone = [JOBS_LOCK + channel_id for channel_id, _ in ordered], [int(is_alone) for _, is_alone in ordered]
    await connection.execute(_LOCK, {"keys": Bigints(keys), "alone": Integers(alone)})


async def _store(connection: AsyncConnection, shots: Sequence[Shot]) -> list[bool]:
    if replacing := [shot for shot in shots if shot.overwrite]:
        await connection.execute(_CLEAR, _named(replacing))
    messages = [shot.later.message for shot in shots]
    values = {
        **_named(shots),
        "message_ids": Texts([message.message_id for message in messages]),
        "payloads": Byteas([message.payload for message in messages]),
        "content_types": Texts([message.content_type for message in messages]),
        "headers": Texts([json.dumps(message.headers) for message in messages]),
        "partitions": Integers([message.partition for message in messages]),
        "asked": Bigints([shot.later.times.asked for shot in shots]),
        "due": Bigints([shot.later.times.due for shot in shots]),
        "ttls": Integers([message.ttl_seconds for message in messages]),
        "jobs": Texts([json.dumps(shot.asked) for shot in shots]),
    }
    cursor = await connection.execute(_STORE, values)
    places = {row[0] for row in await cursor.fetchall()}
    return [place in places for place in range(1, len(shots) + 1)]


def _named(shots: Sequence[Shot]) -> dict[str, Any]:
    return {
        "channels": Bigints([shot.later.message.channel_id for shot in shots]),
        "producers": Bigints([shot.later.message.producer_id for shot in shots]),
        "names": Texts([shot.name for shot in shots]),
    }
