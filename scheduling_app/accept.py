"""Step 1 of a message for later: it becomes a row that waits. 201 means that this has been committed."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Rollback

from broker_project.lib.pg_arrays import Bigints, Byteas, Integers, Texts
from channels_app.delivery.accept import Incoming
from channels_app.delivery.accept_batch import store_new

# As a message for now is stored: the key first, ids in the order of arrival. Times are whole microseconds,
# in two parts: PostgreSQL multiplies intervals by floats, which do not hold the microseconds of year 9999.
_STORE = """
WITH arrived AS MATERIALIZED (
    SELECT nextval('scheduled_message_id_seq'::regclass) AS id, item.*
    FROM unnest(
        %(channels)s, %(producers)s, %(message_ids)s, %(payloads)s, %(content_types)s, %(priorities)s, %(headers)s,
        %(partitions)s, %(asked)s, %(due)s, %(ttls)s, %(daprs)s
    ) WITH ORDINALITY AS item
        (channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, asked, due, ttl,
         dapr, place)
    ORDER BY place
), taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id, scheduled)
    SELECT channel_id, message_id, id, true FROM arrived ORDER BY channel_id, message_id, place
    ON CONFLICT DO NOTHING RETURNING row_id
), stored AS (
    INSERT INTO scheduled_message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, scheduled_for,
         due_at, ttl_seconds, dapr)
    OVERRIDING SYSTEM VALUE
    SELECT id, channel_id, producer_id, message_id, payload, content_type, priority, headers::jsonb, partition,
           'epoch'::timestamptz + asked / 1000000 * interval '1 second' + asked %% 1000000 * interval '1 microsecond',
           'epoch'::timestamptz + due / 1000000 * interval '1 second' + due %% 1000000 * interval '1 microsecond',
           nullif(ttl, 0), nullif(dapr, '')::jsonb
    FROM arrived JOIN taken ON taken.row_id = arrived.id
    RETURNING id
)
SELECT arrived.place FROM arrived JOIN stored USING (id)
"""

# Digests instead of payloads: a batch sent again would send all its bytes a third time.
_FIRSTS = """
SELECT sent.place, coalesce(sha256(coalesce(message.payload, later.payload)) = sent.digest, false), key.scheduled
FROM unnest(%(places)s::int[], %(message_ids)s::text[], %(digests)s::bytea[]) AS sent (place, message_id, digest)
JOIN message_key AS key ON key.channel_id = %(channel)s AND key.message_id = sent.message_id
LEFT JOIN message ON message.id = key.row_id AND NOT key.scheduled
LEFT JOIN scheduled_message AS later ON later.id = key.row_id AND key.scheduled
"""


class Times(NamedTuple):
    """In microseconds since 1970: what was asked for, and when it is due (later, if the channel spreads)."""

    asked: int
    due: int


# What Dapr's door was told of a message for later: appId, namespace, pubsub, topic, contentType, metadata, bulk.
Dapr = Mapping[str, Any]


class Later(NamedTuple):
    """A message for later that has passed the door."""

    message: Incoming
    times: Times
    dapr: Dapr | None = None

    @property
    def size(self) -> int:
        return self.message.size


class First(NamedTuple):
    """Who has an id already: with the same payload, and waiting for its time?"""

    same_payload: bool
    scheduled: bool


async def store_later(connection: AsyncConnection, several: Sequence[Later]) -> list[bool]:
    """Stores a group in one statement; says of each whether it is new (False: its id was taken)."""
    messages = [one.message for one in several]
    cursor = await connection.execute(
        _STORE,
        {
            "channels": Bigints([message.channel_id for message in messages]),
            "producers": Bigints([message.producer_id for message in messages]),
            "message_ids": Texts([message.message_id for message in messages]),
            "payloads": Byteas([message.payload for message in messages]),
            "content_types": Texts([message.content_type for message in messages]),
            "priorities": Integers([message.priority for message in messages]),
            "headers": Texts([json.dumps(message.headers) if message.headers else "{}" for message in messages]),
            "partitions": Integers([message.partition for message in messages]),
            "asked": Bigints([one.times.asked for one in several]),
            "due": Bigints([one.times.due for one in several]),
            "ttls": Integers([message.ttl_seconds for message in messages]),
            "daprs": Texts([json.dumps(one.dapr) if one.dapr else "" for one in several]),
        },
    )
    places = {row[0] for row in await cursor.fetchall()}
    return [place in places for place in range(1, len(messages) + 1)]


_NO_DAPRS: Mapping[int, Dapr | None] = {}


async def store_batch(
    connection: AsyncConnection,
    messages: Mapping[int, Incoming],
    times: Mapping[int, Times],
    *,
    whole: bool,
    daprs: Mapping[int, Dapr | None] = _NO_DAPRS,
) -> dict[int, bool]:
    """Messages by place, those with times for later, in one transaction; whole: all or nothing."""
    places = _first_places(messages)
    now = {place: messages[place] for place in places if place not in times}
    later = {place: Later(messages[place], times[place], daprs.get(place)) for place in places if place in times}
    outcomes = dict.fromkeys(messages, False)
    async with connection.transaction() as transaction:
        outcomes |= dict(zip(now, await store_new(connection, [*now.values()]) if now else [], strict=True))
        if later:
            outcomes |= dict(zip(later, await store_later(connection, [*later.values()]), strict=True))
        if whole and not all(outcomes.values()):
            raise Rollback(transaction)
    return outcomes


def _first_places(messages: Mapping[int, Incoming]) -> list[int]:
    """Of an id that stands twice, the first counts: also where that one is for later, and the other for now."""
    found: dict[str, int] = {}
    for place, message in messages.items():
        found.setdefault(message.message_id, place)
    return list(found.values())


async def firsts(connection: AsyncConnection, messages: Mapping[int, Incoming]) -> dict[int, First]:
    """Of messages by place, all of one channel: those whose id is taken, and by whom."""
    if not messages:
        return {}
    cursor = await connection.execute(
        _FIRSTS,
        {
            "places": list(messages),
            "message_ids": [message.message_id for message in messages.values()],
            "digests": [sha256(message.payload).digest() for message in messages.values()],
            "channel": next(iter(messages.values())).channel_id,
        },
    )
    return {place: First(same, scheduled) for place, same, scheduled in await cursor.fetchall()}
