"""Step 1 for many: a batch becomes rows in one transaction, keys by one statement and messages by COPY."""

import json
import struct
from collections.abc import Iterator, Sequence

from psycopg import AsyncConnection

from channels_app.delivery.accept import Incoming

# All keys of the batch at once and in their order: batches that share ids wait for each other, never both ways.
_KEYS = """
WITH arrived AS MATERIALIZED (
    SELECT nextval('message_id_seq'::regclass) AS id, message_id, place
    FROM unnest(%(message_ids)b::text[]) WITH ORDINALITY AS item (message_id, place) ORDER BY place
), taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id)
    SELECT %(channel)s, message_id, id FROM arrived ORDER BY message_id, place
    ON CONFLICT DO NOTHING RETURNING row_id
)
SELECT arrived.place, arrived.id FROM arrived JOIN taken ON taken.row_id = arrived.id
"""
# Half the work of an INSERT … SELECT unnest: COPY fills whole pages at a time.
_COPY = """
COPY message
    (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, status, partition, ttl_seconds)
FROM STDIN (FORMAT binary)
"""
_COPY_HEAD = b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0)
_COPY_END = struct.pack("!h", -1)
_PIECE_BYTES = 256 * 1024
# Fields are a length and a value each; these are the runs of fixed ones.
_numbers = struct.Struct("!hiqiqiqi").pack
_length = struct.Struct("!i").pack
_priority_and_jsonb = struct.Struct("!iiib").pack
_status = struct.pack("!ih", 2, 100)
_partition = struct.Struct("!ih").pack
_ttl = struct.Struct("!ii").pack
_NULL = struct.pack("!i", -1)


async def store_new(connection: AsyncConnection, messages: Sequence[Incoming]) -> list[bool]:
    """Stores those whose ids are new, all of one channel; says of each whether it was."""
    async with connection.transaction():
        row_ids = await _take_keys(connection, messages)
        if row_ids:
            await _copy(connection, messages, row_ids)
    return [place in row_ids for place in range(len(messages))]


async def _take_keys(connection: AsyncConnection, messages: Sequence[Incoming]) -> dict[int, int]:
    """The row ids of those whose keys were free, by place."""
    names = [message.message_id for message in messages]
    cursor = await connection.execute(_KEYS, {"message_ids": names, "channel": messages[0].channel_id})
    return {place - 1: row_id for place, row_id in await cursor.fetchall()}


async def _copy(connection: AsyncConnection, messages: Sequence[Incoming], row_ids: dict[int, int]) -> None:
    async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for piece in _pieces(messages, row_ids):
            await copy.write(piece)


def _pieces(messages: Sequence[Incoming], row_ids: dict[int, int]) -> Iterator[bytes]:
    """The rows in COPY's binary form, a few at a time: others use this event loop too."""
    rows, size = [_COPY_HEAD], 0
    for place, row_id in sorted(row_ids.items()):
        rows.append(_row(row_id, messages[place]))
        size += len(rows[-1])
        if size > _PIECE_BYTES:
            yield b"".join(rows)
            rows, size = [], 0
    yield b"".join([*rows, _COPY_END])


def _row(row_id: int, message: Incoming) -> bytes:
    name, kind = message.message_id.encode(), message.content_type.encode()
    headers = json.dumps(message.headers).encode() if message.headers else b"{}"
    return b"".join(
        (
            _numbers(11, 8, row_id, 8, message.channel_id, 8, message.producer_id, len(name)),
            name,
            _length(len(message.payload)),
            message.payload,
            _length(len(kind)),
            kind,
            _priority_and_jsonb(4, message.priority, len(headers) + 1, 1),
            headers,
            _status,
            _partition(2, message.partition),
            _ttl(4, message.ttl_seconds) if message.ttl_seconds else _NULL,
        )
    )
