"""Connections of their own for steps that meet each other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.db import connection
from psycopg_pool import AsyncConnectionPool

from channels_app.pull.lease import Ask, Leased, lease


@asynccontextmanager
async def own_pool(size: int) -> AsyncIterator[AsyncConnectionPool]:
    parameters = connection.get_connection_params()
    address = {"dbname": parameters["dbname"], "user": parameters["user"], "host": parameters["host"]}
    async with AsyncConnectionPool(kwargs={**address, "autocommit": True}, min_size=size, open=False) as pool:
        await pool.wait()
        yield pool


async def leased_from(pool: AsyncConnectionPool, ask: Ask) -> list[Leased]:
    async with pool.connection() as own:
        return await lease(own, ask)
