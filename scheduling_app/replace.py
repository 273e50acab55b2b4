"""Step 1 of a message for later that takes the place of the one with its id: for debounce.

The key is taken once and for good, so either this is the first of its id, or there is a row to change; two at once
meet on the key or on the row, both come through, and the last to commit is what is sent.
"""

import json
from typing import NamedTuple

from psycopg import AsyncConnection

from scheduling_app.accept import Later, store_later
from scheduling_app.models import ScheduledStatus

# What it was stored with, its partition among it, stays; another producer's message is not touched.
_REPLACE = """
UPDATE scheduled_message s SET payload = %(payload)s, content_type = %(content_type)s, priority = %(priority)s,
       headers = %(headers)s::jsonb,
       scheduled_for = 'epoch'::timestamptz + %(asked)s::bigint / 1000000 * interval '1 second'
                     + %(asked)s::bigint %% 1000000 * interval '1 microsecond',
       due_at = 'epoch'::timestamptz + %(due)s::bigint / 1000000 * interval '1 second'
                     + %(due)s::bigint %% 1000000 * interval '1 microsecond'
WHERE s.channel_id = %(channel)s AND s.message_id = %(message_id)s AND s.status = 100 AND s.producer_id = %(producer)s
RETURNING s.partition
"""
_FIRST = "SELECT status FROM scheduled_message WHERE channel_id = %(channel)s AND message_id = %(message_id)s"


class Replaced(NamedTuple):
    """What became of it: new, or in the place of the first, in that one's partition; else who has the id.

    `status` is that of the message for later that has it (SCHEDULED: another producer's); None: it is one for now.
    """

    is_new: bool = False
    partition: int | None = None
    status: ScheduledStatus | None = None

    @property
    def is_stored(self) -> bool:
        return self.partition is not None


async def store_or_replace(connection: AsyncConnection, later: Later) -> Replaced:
    """In one transaction. A dispatch that has the row is waited for, and has won."""
    async with connection.transaction():
        [is_new] = await store_later(connection, [later])
        if is_new:
            return Replaced(is_new=True, partition=later.message.partition)
        return await _replace(connection, later)


async def _replace(connection: AsyncConnection, later: Later) -> Replaced:
    row = await (await connection.execute(_REPLACE, _values(later))).fetchone()
    if row is not None:
        return Replaced(partition=row[0])
    first = await (await connection.execute(_FIRST, _values(later))).fetchone()
    return Replaced(status=ScheduledStatus(first[0]) if first else None)


def _values(later: Later) -> dict[str, object]:
    message, times = later.message, later.times
    return {
        "channel": message.channel_id,
        "producer": message.producer_id,
        "message_id": message.message_id,
        "payload": message.payload,
        "content_type": message.content_type,
        "priority": message.priority,
        "headers": json.dumps(message.headers),
        "asked": times.asked,
        "due": times.due,
    }
