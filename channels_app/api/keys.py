"""API keys and tokens for routes of the frame, which has no Django request: looked up in a thread of their own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import structlog
from django.db import Error, close_old_connections
from psycopg_pool import PoolTimeout

from channels_app.api.authentication import ApiKeyAuthentication
from channels_app.known import asked_by
from channels_app.models.api_key import hash_key
from channels_app.registry import registry

log = structlog.get_logger(__name__)


async def key_opens(text: str) -> bool:
    """One that is at hand opens at once: it does not stand in line with guesses."""
    reliable, key_id = registry().at_hand("api_key", hash_key(text))
    if reliable and key_id is not None:
        note_use(key_id)
        return True
    return bool(text) and await looked_up(lambda: _opens(text))


async def looked_up(ask: Callable[[], Any]) -> Any:
    """Asks the database about what a stranger brings."""
    return await asked_by(_thread(), ask)


def _opens(text: str) -> bool:
    key_id = registry().api_key(text)
    if key_id is not None:
        ApiKeyAuthentication().mark_used(key_id)
    return key_id is not None


def note_use(key_id: int) -> None:
    """Of a key that a process remembers: once a minute that is written down, and nobody waits for it."""
    if ApiKeyAuthentication.is_use_noted(key_id):
        return
    _thread().submit(_mark_used, key_id)


def _mark_used(key_id: int) -> None:
    close_old_connections()
    try:
        ApiKeyAuthentication().mark_used(key_id)
    except (Error, PoolTimeout) as error:
        log.warning("api_key.cannot_note_use", error=type(error).__name__)


@cache
def _thread() -> ThreadPoolExecutor:
    """Not the door's: guesses at keys must not hold up publishers."""
    return ThreadPoolExecutor(1, thread_name_prefix="api-keys")
