"""Ids that were used before: what the client is told of them."""

from collections.abc import Mapping

import psycopg
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming
from scheduling_app.accept import First, firsts


class DuplicateMessage(BrokerError):
    """This channel already has a message with this id."""

    status = 409


# The one that had the id a moment ago, and is gone.
NOBODY = First(same_payload=False, scheduled=False)


async def used(messages: Mapping[int, Incoming]) -> dict[int, First]:
    """Of messages by place: those whose id was used before, and by whom."""
    if not messages:
        return {}
    try:
        async with door_pool().connection() as connection:
            return await firsts(connection, messages)
    except (psycopg.Error, PoolTimeout) as error:
        raise StorageAway from error
