"""One message again, by its index: a consumer's own retry. Nothing is changed."""

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.errors import BrokerError
from channels_app.pull.index.places import ASKED, look
from channels_app.pull.index.poll import Item

_READ = f"""
WITH asked AS MATERIALIZED (
    {ASKED}
)
SELECT m.sequence, j.id, coalesce(j.attempt, 0), m.priority, m.message_id, m.payload, m.content_type, m.headers,
       m.received_at, m.expunged_at IS NOT NULL
FROM asked JOIN message m ON m.id = asked.id
LEFT JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
"""  # noqa: S608


class NoSuchIndex(BrokerError):
    """This channel has no message with this index."""

    status = 404


class NotSentYet(BrokerError):
    """This index was not handed out yet: poll for it."""

    status = 409


class Expunged(BrokerError):
    """The message with this index was expunged."""

    status = 410


async def message_at(connection: AsyncConnection, consumer_id: int, index: int) -> Item:
    place = await look(connection, consumer_id)
    if not 0 < index <= place.last:
        raise NoSuchIndex
    if index > place.sent:
        raise NotSentYet
    async with connection.cursor(row_factory=args_row(_row)) as cursor:
        await cursor.execute(_READ, {**place.ids, "after": index - 1, "until": index})
        found = await cursor.fetchone()
    if found is None:
        raise NoSuchIndex
    item, is_expunged = found
    if is_expunged:
        raise Expunged
    return item


def _row(*columns: object) -> tuple[Item, bool]:
    *of_item, is_expunged = columns
    return Item(*of_item), bool(is_expunged)  # type: ignore[arg-type]
