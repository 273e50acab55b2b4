"""Messages again, by their index: a consumer's own retry. Nothing is changed."""

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.errors import BrokerError
from channels_app.pull.index.places import ASKED, Place, look
from channels_app.pull.index.poll import MOST_BYTES, Item

_READ = f"""
WITH asked AS MATERIALIZED (
    {ASKED}
)
SELECT m.sequence, j.id, coalesce(j.attempt, 0), m.priority, m.message_id, m.payload, m.content_type, m.headers,
       m.received_at, m.expunged_at IS NOT NULL
FROM asked JOIN message m ON m.id = asked.id
LEFT JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
"""  # noqa: S608

# As a poll does: up to so many bytes, the message that reaches them included.
_READ_MANY = f"""
WITH asked AS MATERIALIZED (
    {ASKED}
), measured AS MATERIALIZED (
    SELECT m.id, sum(octet_length(m.payload)) OVER (ORDER BY m.sequence) - octet_length(m.payload) AS before
    FROM asked JOIN message m ON m.id = asked.id WHERE m.expunged_at IS NULL
)
SELECT m.sequence, j.id, coalesce(j.attempt, 0), m.priority, m.message_id, m.payload, m.content_type, m.headers,
       m.received_at
FROM measured JOIN message m ON m.id = measured.id
LEFT JOIN delivery_job j ON j.message_id = m.id AND j.consumer_id = %(consumer)s
WHERE measured.before < %(bytes)s AND j.status IS DISTINCT FROM 1004 ORDER BY m.sequence
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


async def messages_again(connection: AsyncConnection, place: Place, *, after: int, until: int) -> list[Item]:
    """Of those up to `sent`. As in a poll, what is dead or was expunged is passed over."""
    asked = {**place.ids, "after": after, "until": min(until, place.sent), "bytes": MOST_BYTES}
    async with connection.cursor(row_factory=args_row(Item)) as cursor:
        await cursor.execute(_READ_MANY, asked)
        return await cursor.fetchall()


def _row(*columns: object) -> tuple[Item, bool]:
    *of_item, is_expunged = columns
    return Item(*of_item), bool(is_expunged)  # type: ignore[arg-type]
