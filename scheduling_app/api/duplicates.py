"""Ids that were used before: what the client is told of them."""

from collections.abc import Mapping

import psycopg
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming
from channels_app.delivery.accept_batch import firsts


class DuplicateMessage(BrokerError):
    """This channel already has a message with this id."""

    status = 409


async def used(messages: Mapping[int, Incoming]) -> dict[int, bool]:
    """Of messages by place: those whose id was used before, and whether for the same payload."""
    try:
        async with door_pool().connection() as connection:
            return await firsts(connection, messages)
    except (psycopg.Error, PoolTimeout) as error:
        raise StorageAway from error
