"""What clients say of items that they have leased: complete, or again. A request is one transaction, all or nothing."""

from datetime import UTC

from psycopg import AsyncConnection

from channels_app.pull.ack import Acked, Batch, Moved, acknowledge
from channels_app.pull.fold import QUEUED, Result
from scheduling_app.querator.errors import InvalidOption, NotLeased

# Said again, because an answer was lost, it is as true as before.
_HEARD = (Result.APPLIED, Result.DUPLICATE)


async def settle(connection: AsyncConnection, batch: Batch) -> Acked:
    async with connection.transaction():
        acked = await acknowledge(connection, [batch])
        # The transaction goes with a refusal.
        if any(result not in _HEARD for result in acked.results[0]):
            raise NotLeased
        for moved in acked.moved:
            _check_in_time(batch, moved)
    return acked


def _check_in_time(batch: Batch, moved: Moved) -> None:
    """An item that waits longer than it lives would be dead, though its client was told that it comes again."""
    ended, expires_at = moved.move.ended, moved.held.expires_at
    if moved.move.status != QUEUED or ended is None or ended.retry_at is None or ended.retry_at < expires_at:
        return
    at = expires_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    raise InvalidOption(f"items[{batch.acks.index(ended)}] is invalid; retry_at is not before {at}, when it expires")
