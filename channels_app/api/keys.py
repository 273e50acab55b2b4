"""API keys for routes of the frame, which has no Django request: looked up in a thread of their own."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.db import Error, close_old_connections
from psycopg_pool import PoolTimeout

from broker_project.api.exceptions import StorageAway
from channels_app.api.authentication import ApiKeyAuthentication
from channels_app.registry import registry


async def key_opens(text: str) -> bool:
    return bool(text) and await asyncio.get_running_loop().run_in_executor(_thread(), _look_up, text)


def _look_up(text: str) -> bool:
    close_old_connections()
    try:
        key_id = registry().api_key(text)
        if key_id is not None:
            ApiKeyAuthentication().mark_used(key_id)
        return key_id is not None
    except (Error, PoolTimeout) as error:
        raise StorageAway from error


@cache
def _thread() -> ThreadPoolExecutor:
    """Not the door's: guesses at keys must not hold up publishers."""
    return ThreadPoolExecutor(1, thread_name_prefix="api-keys")
