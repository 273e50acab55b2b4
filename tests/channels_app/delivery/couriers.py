"""A courier of the test's own, with its own connections to the test's database."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psycopg
from django.db import connection
from psycopg_pool import AsyncConnectionPool

from broker_project.lib.egress import allowed_from
from channels_app.delivery.courier import Courier
from channels_app.delivery.webhook import open_session


@asynccontextmanager
async def couriers(ring: Callable[[int], None] = lambda _consumer: None) -> AsyncIterator[Courier]:
    """Started; stopped when what it has under way has ended."""
    parameters = connection.get_connection_params()
    address = {name: parameters[name] for name in ("dbname", "user", "host")}
    async with (
        AsyncConnectionPool(psycopg.conninfo.make_conninfo(**address), kwargs={"autocommit": True}, open=False) as pool,
        open_session(allowed_from(["127.0.0.0/8"])) as session,
    ):
        courier = Courier(pool, session, ring=ring, promote_in=lambda _wait: None)
        await courier.start()
        yield courier
        await courier.stop(grace_seconds=10)
