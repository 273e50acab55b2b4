"""Items become messages and at once jobs, those for later rows that wait: one transaction, all or nothing."""

from collections.abc import Mapping

from psycopg import AsyncConnection

from channels_app.delivery.accept import Incoming
from channels_app.delivery.fanout import MOST_JOBS, FannedOut, fan_out_on
from channels_app.delivery.work import Work
from scheduling_app.accept import Times, store_batch
from scheduling_app.querator.errors import NotStored, UnknownQueue
from scheduling_app.querator.names import queue_name

# Nothing is locked: who deletes a channel would wait for ever behind producers who come one after another.
_DELETED = "SELECT public_id FROM channel WHERE id = %s AND deleted_at IS NOT NULL"


async def produce(
    connection: AsyncConnection, messages: Mapping[int, Incoming], times: Mapping[int, Times]
) -> FannedOut:
    """All of one channel. Who lists the queue after this finds them in it."""
    async with connection.transaction():
        if not all((await store_batch(connection, messages, times, whole=True)).values()):
            raise NotStored
        fanned = FannedOut(0, Work())
        if len(times) < len(messages):
            fanned = await fan_out_on(connection, messages[0].channel_id, MOST_JOBS)
        await _check_live(connection, messages[0].channel_id)
    return fanned


async def _check_live(connection: AsyncConnection, channel_id: int) -> None:
    """Comes last: one that is live now had its consumer when jobs were made. The transaction goes with a refusal."""
    row = await (await connection.execute(_DELETED, [channel_id])).fetchone()
    if row is not None:
        raise UnknownQueue(queue_name(row[0]))
