"""Step 1: what was broadcast becomes a row. 201 means that this has been committed."""

import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from broker_project.lib.bound import fetch
from broker_project.lib.ids import new_id, new_ids
from broker_project.lib.pg_arrays import Bigints, Byteas, Integers, Texts

# The key is taken first, ON CONFLICT DO NOTHING: a check before the insert would race. Row ids are drawn in the
# order of arrival, so that within a group too the first of two equal ids wins; keys are taken in their own order,
# so that two groups with the same ids cannot wait for each other. The sequence is named: looked up by its column
# it would be looked up once a row.
_STORE = """
WITH arrived AS MATERIALIZED (
    SELECT nextval('message_id_seq'::regclass) AS id, item.*
    FROM unnest(
        %(channels)s, %(producers)s, %(message_ids)s, %(payloads)s, %(content_types)s, %(priorities)s, %(headers)s,
        %(partitions)s, %(ttls)s
    ) WITH ORDINALITY AS item
        (channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, ttl, place)
    ORDER BY place
), taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id)
    SELECT channel_id, message_id, id FROM arrived ORDER BY channel_id, message_id, place
    ON CONFLICT DO NOTHING RETURNING row_id
), stored AS (
    INSERT INTO message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, status,
         received_at, ttl_seconds)
    OVERRIDING SYSTEM VALUE
    SELECT id, channel_id, producer_id, message_id, payload, content_type, priority, headers::jsonb, partition, 100,
           now(), nullif(ttl, 0)
    FROM arrived JOIN taken ON taken.row_id = arrived.id
    RETURNING id
)
SELECT arrived.place FROM arrived JOIN stored USING (id)
"""


class Incoming(NamedTuple):
    """A message that has passed the door. A tuple: a batch makes ten thousand of them."""

    channel_id: int
    producer_id: int
    message_id: str
    payload: bytes
    content_type: str
    priority: int
    headers: dict[str, str]
    partition: int = 0
    # How long its jobs may wait; 0: as long as the channel says.
    ttl_seconds: int = 0

    @property
    def size(self) -> int:
        return len(self.payload) + 512


def new_message_ids(number: int) -> list[str]:
    """Ids for those that came without: 128 bits in hex, by time first, so that the index of keys grows at its end."""
    stamp = f"{int(time.time() * 1000):012x}"
    return [stamp + chance[:20] for chance in ([new_id()] if number == 1 else new_ids(number))]


async def store(connection: AsyncConnection, messages: Sequence[Incoming]) -> list[bool]:
    """Stores a group in one statement; says of each whether it is new (False: its id was taken)."""
    cursor = await connection.execute(_STORE, _columns(messages))
    places = {row[0] for row in await cursor.fetchall()}
    return [place in places for place in range(1, len(messages) + 1)]


def store_one(message: Incoming) -> bool:
    """The same in the transaction that Django is in, for who has more to write with it."""
    return bool(fetch(_STORE, _columns([message])))


def _columns(messages: Sequence[Incoming]) -> dict[str, Any]:
    return {
        "channels": Bigints([message.channel_id for message in messages]),
        "producers": Bigints([message.producer_id for message in messages]),
        "message_ids": Texts([message.message_id for message in messages]),
        "payloads": Byteas([message.payload for message in messages]),
        "content_types": Texts([message.content_type for message in messages]),
        "priorities": Integers([message.priority for message in messages]),
        "headers": Texts([json.dumps(message.headers) if message.headers else "{}" for message in messages]),
        "partitions": Integers([message.partition for message in messages]),
        "ttls": Integers([message.ttl_seconds for message in messages]),
    }
