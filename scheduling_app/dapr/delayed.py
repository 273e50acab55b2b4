"""What an application has published for later: a listing to look into, soonest first, or to take from for good."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection

# The order is that of the index scheduled_listing. One more than a page is looked at, to know whether there is one;
# the size of a payload is known without reading it.
_PAGE = """
WITH found AS MATERIALIZED (
    SELECT id, due_at, octet_length(payload) AS size FROM scheduled_message
    WHERE status = 100 AND dapr IS NOT NULL AND dapr ->> 'listing' = %(listing)s::text
      AND (%(producer)s::bigint IS NULL OR producer_id = %(producer)s::bigint)
      AND (%(manager)s::boolean
           OR EXISTS (SELECT 1 FROM channel c WHERE c.id = scheduled_message.channel_id AND c.answers = 'dapr'))
      AND (due_at, id) > (%(due)s::timestamptz, %(id)s::bigint)
    ORDER BY due_at, id LIMIT %(most)s::bigint + 1
), fits AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, row_number() OVER sooner AS place, sum(size) OVER sooner - size AS before
        FROM found WINDOW sooner AS (ORDER BY due_at, id)
    ) AS measured WHERE place <= %(most)s::bigint AND before < %(bytes)s::bigint
)
SELECT s.id, s.message_id, s.payload, s.dapr, s.due_at, (SELECT count(*) FROM found) > (SELECT count(*) FROM fits)
FROM fits JOIN scheduled_message s USING (id) ORDER BY s.due_at, s.id
"""

# Locked rows are somebody's who sends or changes them.
_TAKE = """
WITH found AS MATERIALIZED (
    SELECT id, due_at, octet_length(payload) AS size FROM scheduled_message
    WHERE status = 100 AND dapr IS NOT NULL AND dapr ->> 'listing' = %(listing)s::text
      AND (%(producer)s::bigint IS NULL OR producer_id = %(producer)s::bigint)
      AND (%(manager)s::boolean
           OR EXISTS (SELECT 1 FROM channel c WHERE c.id = scheduled_message.channel_id AND c.answers = 'dapr'))
    ORDER BY due_at, id LIMIT %(most)s::bigint FOR UPDATE SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, sum(size) OVER (ORDER BY due_at, id) - size AS before FROM found
    ) AS measured WHERE before < %(bytes)s::bigint
), taken AS (
    UPDATE scheduled_message s SET status = 102, reason = 'taken', status_changed_at = now()
    FROM fits WHERE s.id = fits.id
    RETURNING s.id, s.message_id, s.payload, s.dapr, s.due_at
)
SELECT taken.*, false FROM taken ORDER BY due_at, id
"""
MOST_BYTES = 8 * 1024 * 1024


class Delayed(NamedTuple):
    """A message that waits, or waited."""

    row_id: int
    message_id: str
    payload: bytes
    dapr: Mapping[str, Any]
    due_at: datetime


class Listing(NamedTuple):
    """Its name, and whose messages are shown of it; None: everybody's. Who is no manager sees Dapr's channels only."""

    name: str
    producer_id: int | None
    is_manager: bool

    @property
    def values(self) -> dict[str, Any]:
        asked = {"listing": self.name, "producer": self.producer_id, "manager": self.is_manager}
        return {**asked, "bytes": MOST_BYTES}


class After(NamedTuple):
    """Where a page begins: behind this one."""

    due_at: datetime
    row_id: int


class Page(NamedTuple):
    messages: list[Delayed]
    has_more: bool


async def page(connection: AsyncConnection, listing: Listing, *, after: After, most: int) -> Page:
    """At most so many, and about eight megabytes of them."""
    values = {**listing.values, "due": after.due_at, "id": after.row_id, "most": most}
    rows = await (await connection.execute(_PAGE, values)).fetchall()
    return Page([Delayed(*row[:-1]) for row in rows], bool(rows and rows[-1][-1]))


async def take(connection: AsyncConnection, listing: Listing, *, most: int) -> list[Delayed]:
    """Handed over for good: they are not sent any more."""
    rows = await (await connection.execute(_TAKE, {**listing.values, "most": most})).fetchall()
    return [Delayed(*row[:-1]) for row in rows]
