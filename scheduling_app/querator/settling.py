"""What clients say of items that they have leased: complete, or again. A request is one transaction, all or nothing."""

from psycopg import AsyncConnection

from channels_app.pull.ack import Acked, Batch, acknowledge
from channels_app.pull.fold import Result
from scheduling_app.querator.errors import NotLeased

# Said again, because an answer was lost, it is as true as before.
_HEARD = (Result.APPLIED, Result.DUPLICATE)


async def settle(connection: AsyncConnection, batch: Batch) -> Acked:
    async with connection.transaction():
        acked = await acknowledge(connection, [batch])
        if any(result not in _HEARD for result in acked.results[0]):
            # The transaction goes with it.
            raise NotLeased
    return acked
