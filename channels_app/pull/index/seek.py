"""A seek: both indexes go to one place, back to see messages again, or forward over those nobody wants any more."""

from dataclasses import replace
from datetime import datetime

import structlog
from psycopg import AsyncConnection

from broker_project.lib.errors import BrokerError
from channels_app.pull.index.ack import BATCH, done
from channels_app.pull.index.moments import INDEX_BEFORE
from channels_app.pull.index.places import Connect, Place, hold, keep

log = structlog.get_logger(__name__)

PASSED_OVER = "passed over by a seek"


class NoSuchPlace(BrokerError):
    """An index to go to is from 0 to the channel's last."""


async def seek(connect: Connect, consumer_id: int, index: int) -> Place:
    """Forward goes by batches of a transaction each, and the indexes with them: cut short, it can be said again."""
    while True:
        async with connect() as connection, connection.transaction():
            place = await _step(connection, await hold(connection, consumer_id), index)
        if place.acked == index:
            log.info("index.sought", consumer_id=consumer_id, index=index)
            return place


async def index_before(connection: AsyncConnection, channel_id: int, at: datetime) -> int:
    row = await (await connection.execute(INDEX_BEFORE, {"channel": channel_id, "at": at})).fetchone()
    return int(row[0]) if row else 0


async def _step(connection: AsyncConnection, place: Place, index: int) -> Place:
    if not 0 <= index <= place.last:
        raise NoSuchPlace
    acked = min(place.acked + BATCH, index)
    if acked > place.acked:
        await done(connection, place, after=place.acked, until=acked, note=PASSED_OVER)
    moved = replace(place, acked=acked, sent=index if acked == index else max(place.sent, acked))
    await keep(connection, moved)
    return moved
