"""Items become messages and at once jobs, those for later rows that wait: one transaction, all or nothing."""

from collections.abc import Mapping

from psycopg import AsyncConnection

from channels_app.delivery.accept import Incoming
from channels_app.delivery.fanout import MOST_JOBS, FannedOut, fan_out_on
from channels_app.delivery.work import Work
from scheduling_app.accept import Times, store_batch
from scheduling_app.querator.errors import NotStored


async def produce(
    connection: AsyncConnection, messages: Mapping[int, Incoming], times: Mapping[int, Times]
) -> FannedOut:
    """All of one channel. Who lists the queue after this finds them in it."""
    async with connection.transaction():
        if not all((await store_batch(connection, messages, times, whole=True)).values()):
            raise NotStored
        if len(times) == len(messages):
            return FannedOut(0, Work())
        return await fan_out_on(connection, messages[0].channel_id, MOST_JOBS)
