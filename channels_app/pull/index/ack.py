"""An acknowledgement by index: jobs become DELIVERED, and `acked` moves up to the first that is open."""

from dataclasses import dataclass

from psycopg import AsyncConnection

from broker_project.lib.errors import BrokerError
from channels_app.pull.index.places import ASKED, Connect, Place, hold, keep, look

# By so many messages a statement: an acknowledgement of everything may be of a hundred thousand, a seek of millions.
BATCH = 2_000

# A job that nobody had (QUEUED: a poll leaped over it) is taken and done at once, as an attempt of its own. An attempt
# may have lasted longer than an int4 has milliseconds.
_DONE = f"""
WITH asked AS MATERIALIZED (
    {ASKED}
), held AS MATERIALIZED (
    SELECT j.id, j.status, j.received_at
    FROM asked JOIN delivery_job j ON j.message_id = asked.id AND j.consumer_id = %(consumer)s
    WHERE j.status IN (1001, 1002) ORDER BY j.id FOR UPDATE OF j
), moved AS (
    UPDATE delivery_job j SET status = 1003, attempt = j.attempt + (held.status = 1001)::int, losses = 0,
           lease_until = NULL, next_attempt_at = NULL, reason = NULL, status_changed_at = now()
    FROM held WHERE j.id = held.id
    RETURNING j.id, j.attempt, CASE WHEN held.status = 1002 THEN held.received_at END AS received_at
), kept AS (
    INSERT INTO delivery_attempt (job_id, attempt, error, duration_ms)
    SELECT id, attempt, %(note)s,
           least(2147483647, greatest(0, coalesce(extract(epoch FROM now() - received_at) * 1000, 0)))::int
    FROM moved ORDER BY id
)
SELECT count(*) FROM moved
"""  # noqa: S608


class AckAboveSent(BrokerError):
    """This index was not handed out yet: it cannot be acknowledged."""

    status = 409


@dataclass(frozen=True)
class Acked:
    """Where the consumer stands now, and how many jobs this has moved."""

    place: Place
    jobs: int


async def ack(connect: Connect, consumer_id: int, index: int) -> Acked:
    """One message. What is done already stays as it is."""
    async with connect() as connection, connection.transaction():
        place = await _below_sent(connection, consumer_id, index)
        jobs = await done(connection, place, after=index - 1, until=index) if index > place.acked else 0
        return Acked(await _moved(connection, consumer_id), jobs)


async def ack_up_to(connect: Connect, consumer_id: int, index: int) -> Acked:
    """Everything at or below it, in batches of a transaction each: cut short, it can be said again."""
    jobs = 0
    while True:
        async with connect() as connection, connection.transaction():
            place = await _below_sent(connection, consumer_id, index)
            until = min(place.acked + BATCH, index)
            jobs += await done(connection, place, after=place.acked, until=until)
            moved = await _moved(connection, consumer_id)
        if moved.acked >= index:
            return Acked(moved, jobs)


async def done(connection: AsyncConnection, place: Place, *, after: int, until: int, note: str = "") -> int:
    """The open jobs of these messages are DELIVERED; says how many there were."""
    parameters = {**place.ids, "after": after, "until": until, "note": note}
    row = await (await connection.execute(_DONE, parameters)).fetchone()
    return int(row[0]) if row else 0


async def _below_sent(connection: AsyncConnection, consumer_id: int, index: int) -> Place:
    place = await hold(connection, consumer_id)
    if index > place.sent:
        raise AckAboveSent
    return place


async def _moved(connection: AsyncConnection, consumer_id: int) -> Place:
    place = await look(connection, consumer_id)
    await keep(connection, place)
    return place
