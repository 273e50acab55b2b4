"""Steps 1 and 2 at once, for one consumer alone: a message with a single job.

It has no place in the channel's sequence: whoever polls by index would get it too, and what was missed by others would
be delivered to them.
"""

import json
from typing import NamedTuple

from broker_project.lib.bound import fetch
from channels_app.delivery.accept import Incoming
from channels_app.delivery.work import WHO, Work

# A consumer that is gone, disabled or polls by index gets nothing: not even a key is taken.
_STORE = f"""
WITH wanted AS (
    SELECT k.id AS consumer_id, c.id AS channel_id, c.max_age_seconds
    FROM consumer k JOIN channel c ON c.id = k.channel_id JOIN consumer_state s ON s.consumer_id = k.id
    WHERE k.id = %(consumer)s::bigint AND c.id = %(channel)s::bigint AND k.deleted_at IS NULL AND c.deleted_at IS NULL
      AND s.disabled_at IS NULL AND NOT (k.type = 'pull' AND k.pull_mode = 'index')
), taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id)
    SELECT channel_id, %(message_id)s::text, nextval('message_id_seq'::regclass) FROM wanted
    ON CONFLICT DO NOTHING RETURNING row_id
), stored AS (
    INSERT INTO message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, status,
         received_at, dispatched_at)
    OVERRIDING SYSTEM VALUE
    SELECT taken.row_id, %(channel)s::bigint, %(producer)s::bigint, %(message_id)s::text, %(payload)s::bytea,
           %(content_type)s::text, %(priority)s::int, %(headers)s::jsonb, %(partition)s::smallint, 101, now(), now()
    FROM taken
    RETURNING id, priority, partition
), made AS (
    INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, expires_at)
    SELECT stored.id, wanted.channel_id, wanted.consumer_id, stored.priority, stored.partition,
           now() + make_interval(secs => wanted.max_age_seconds)
    FROM stored CROSS JOIN wanted
    RETURNING consumer_id
)
SELECT (SELECT count(*) FROM made), work.* FROM ({WHO}) AS work
"""  # noqa: S608


class StoredForOne(NamedTuple):
    """Whether it was stored, and who has work now."""

    is_stored: bool
    work: Work


def store_for_one(message: Incoming, *, consumer_id: int) -> StoredForOne:
    """In the transaction that Django is in."""
    values = {
        "channel": message.channel_id,
        "consumer": consumer_id,
        "producer": message.producer_id,
        "message_id": message.message_id,
        "payload": message.payload,
        "content_type": message.content_type,
        "priority": message.priority,
        "headers": json.dumps(message.headers),
        "partition": message.partition,
    }
    made, *who = fetch(_STORE, values)[0]
    return StoredForOne(bool(made), Work.of(*who))
