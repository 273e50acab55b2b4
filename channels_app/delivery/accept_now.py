"""Steps 1 and 2 at once: what was sent becomes rows, has its place in the channel and its jobs, in one transaction.

For those who want to know the index. Everybody else is answered after step 1, which waits for no one.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from psycopg import AsyncConnection

from broker_project.lib.pg_arrays import Bigints, Byteas, Integers, Texts
from channels_app.delivery.accept import Incoming
from channels_app.delivery.fanout import MAKE_JOBS
from channels_app.delivery.work import WHO, Work

# Of one channel. Its state row is held until the commit, so that the order of indexes is that of commits. A channel
# that was deleted since it was looked up gets nothing, not even a key. `ends_at`: these have no end of their own.
_STORE = f"""
WITH arrived AS MATERIALIZED (
    SELECT nextval('message_id_seq'::regclass) AS id, item.*
    FROM unnest(%(producers)s, %(message_ids)s, %(payloads)s, %(content_types)s, %(partitions)s) WITH ORDINALITY
        AS item (producer_id, message_id, payload, content_type, partition, place)
    ORDER BY place
), state AS (
    UPDATE channel_state SET last_sequence = last_sequence + (SELECT count(*) FROM arrived)
    FROM channel
    WHERE channel_state.channel_id = %(channel)s::bigint AND channel.id = %(channel)s::bigint
      AND channel.deleted_at IS NULL
    RETURNING last_sequence - (SELECT count(*) FROM arrived) AS before
), numbered AS MATERIALIZED (
    SELECT arrived.*, 0 AS priority, NULL::timestamptz AS ends_at,
           state.before + row_number() OVER (ORDER BY arrived.id) AS sequence
    FROM arrived, state
), keyed AS (
    INSERT INTO message_key (channel_id, message_id, row_id)
    SELECT %(channel)s::bigint, message_id, id FROM numbered ORDER BY message_id
), stored AS (
    INSERT INTO message (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition,
                         status, sequence, received_at, dispatched_at)
    OVERRIDING SYSTEM VALUE
    SELECT id, %(channel)s::bigint, producer_id, message_id, payload, content_type, priority, '{{}}', partition, 101,
           sequence, now(), now()
    FROM numbered ORDER BY id
), made AS (
    {MAKE_JOBS}
)
SELECT (SELECT array_agg(sequence ORDER BY place) FROM numbered), work.* FROM ({WHO}) AS work
"""  # noqa: S608


class Placed(NamedTuple):
    """The index of each message, None where the channel is gone; and who has work now."""

    indexes: list[int | None]
    work: Work


async def store_and_fan_out(connection: AsyncConnection, messages: Sequence[Incoming]) -> Placed:
    """Channel by channel, in the order of their ids: two groups never wait for each other both ways.

    Ids are new, and neither priority nor headers are given.
    """
    indexes: list[int | None] = [None] * len(messages)
    work = Work()
    order = sorted(range(len(messages)), key=lambda place: (messages[place].channel_id, place))
    async with connection.transaction():
        for channel_id, several in groupby(order, key=lambda place: messages[place].channel_id):
            places = list(several)
            found, *who = await _store(connection, channel_id, [messages[place] for place in places])
            work |= Work.of(*who)
            for place, index in zip(places, found or (), strict=False):
                indexes[place] = index
    return Placed(indexes, work)


async def _store(
    connection: AsyncConnection, channel_id: int, messages: Sequence[Incoming]
) -> tuple[list[int] | None, ...]:
    column = {name: [getattr(message, name) for message in messages] for name in Incoming._fields}
    cursor = await connection.execute(
        _STORE,
        {
            "channel": channel_id,
            "producers": Bigints(column["producer_id"]),
            "message_ids": Texts(column["message_id"]),
            "payloads": Byteas(column["payload"]),
            "content_types": Texts(column["content_type"]),
            "partitions": Integers(column["partition"]),
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    return row
