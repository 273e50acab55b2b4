"""Stores a batch on one of the door's connections."""

from broker_project.api.door_write import written
from scheduling_app.accept import store_batch
from scheduling_app.api.batch import Batch


async def stored(batch: Batch, *, whole: bool) -> dict[int, bool]:
    """Whether each message was new, in one transaction."""
    if not batch.messages:
        return {}
    return await written(lambda connection: store_batch(connection, batch.messages, batch.times, whole=whole))
