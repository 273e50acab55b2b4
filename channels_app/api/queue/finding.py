"""Which queue and which subscriber are meant. What this process does not know yet, another may have made just now."""

from typing import NamedTuple

import psycopg
from psycopg.rows import args_row
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway
from broker_project.lib.patterns import PUBLIC_ID
from channels_app.api.queue import registering
from channels_app.api.queue.errors import NotASubscriber, NotRegistered, SeveralQueues, UnknownQueue
from channels_app.known import in_thread, known, known_consumer, surely
from channels_app.models.consumer import PullMode
from channels_app.registry import Entry

# By the index consumer_by_public_id. Two are enough to know that there are several.
_NAMED = """
SELECT k.id, c.public_id FROM consumer k JOIN channel c ON c.id = k.channel_id
WHERE k.public_id = %s AND k.deleted_at IS NULL AND k.type = 'pull' AND k.pull_mode = 'index' AND c.deleted_at IS NULL
ORDER BY k.id LIMIT 2
"""


class Subscriber(NamedTuple):
    """The consumer's row, and the queue that it polls."""

    row_id: int
    queue_name: str


async def queue_named(name: str) -> Entry:
    found = await surely(lambda: known("channel", name))
    if found is None:
        raise UnknownQueue
    return found


async def producer() -> Entry:
    """Made when it is missed for the first time."""
    while True:
        found = await surely(lambda: known("producer", registering.PRODUCER))
        if found is not None:
            return found
        await in_thread(registering.make_producer)


async def subscriber_named(subscriber_id: str, queue_name: str | None) -> Subscriber:
    """Without a queue, the one for which it is registered."""
    if queue_name is None:
        return await _only(subscriber_id)
    queue = await queue_named(queue_name)
    found = await surely(lambda: known_consumer(queue.row_id, subscriber_id))
    if found is None:
        raise NotRegistered
    if found.mode != PullMode.INDEX:
        raise NotASubscriber
    return Subscriber(found.row_id, queue_name)


async def _only(subscriber_id: str) -> Subscriber:
    # What cannot be an id may hold what PostgreSQL refuses.
    found = await _named(subscriber_id) if PUBLIC_ID.fullmatch(subscriber_id) else []
    if not found:
        raise NotRegistered
    if len(found) > 1:
        raise SeveralQueues
    return found[0]


async def _named(subscriber_id: str) -> list[Subscriber]:
    try:
        async with (
            door_pool().connection() as connection,
            connection.cursor(row_factory=args_row(Subscriber)) as cursor,
        ):
            await cursor.execute(_NAMED, (subscriber_id,))
            return await cursor.fetchall()
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise StorageAway from error
