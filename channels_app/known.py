"""The registry for the event loop: what is at hand costs nothing, the rest is asked for in a thread."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import Error, close_old_connections
from psycopg_pool import PoolTimeout

from broker_project.api.exceptions import StorageAway
from broker_project.lib.patterns import PUBLIC_ID
from channels_app.registry import Entry, registry

Found = TypeVar("Found")

log = structlog.get_logger(__name__)
THREADS = 2
# The last look at the database failed: nobody needs to wait for the next.
_away = threading.Event()


def at_hand(kind: str, public_id: str) -> Entry | None:
    """What needs no asking; None: it is not known here, or not any more."""
    reliable, entry = registry().at_hand(kind, public_id)
    return entry if reliable else None


async def known(kind: str, public_id: str) -> Entry | None:
    """The live channel or producer with this id."""
    ask = registry().channel if kind == "channel" else registry().producer
    return await _known(public_id, (kind, public_id), lambda: ask(public_id))


async def known_consumer(channel_id: int, public_id: str) -> Entry | None:
    """The live consumer of this channel."""
    key = ("consumer", channel_id, public_id)
    return await _known(public_id, key, lambda: registry().consumer(channel_id, public_id))


async def known_other(*key: Hashable, load: Callable[[], Any]) -> Any:
    """What another app keeps in the registry."""
    reliable, value = registry().at_hand(*key)
    return value if reliable else await in_thread(lambda: registry().other(*key, load=load))


async def surely(look: Callable[[], Awaitable[Found | None]]) -> Found | None:
    """What this process does not know yet, another may have made just now: nothing is missed without a second look."""
    found = await look()
    if found is not None:
        return found
    await in_thread(registry().refresh)
    return await look()


async def in_thread(ask: Callable[[], Any]) -> Any:
    """Asks the database, for the event loop."""
    return await asked_by(_threads(), ask)


async def asked_by(threads: ThreadPoolExecutor, ask: Callable[[], Any]) -> Any:
    """The same, by threads that somebody has for it."""
    if _away.is_set():
        raise StorageAway
    return await asyncio.get_running_loop().run_in_executor(threads, _asked, ask)


async def _known(public_id: str, key: tuple[Hashable, ...], ask: Callable[[], Entry | None]) -> Entry | None:
    if not PUBLIC_ID.fullmatch(public_id):
        return None
    reliable, entry = registry().at_hand(*key)
    return entry if reliable else await in_thread(ask)


def _asked(ask: Callable[[], Any]) -> Any:
    close_old_connections()
    try:
        return ask()
    except (Error, PoolTimeout) as error:
        raise StorageAway from error


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="registry")


async def keep_fresh() -> None:
    """Started with the web server: the version is read in the background, twice per age."""
    threading.Thread(target=_refresh_for_ever, name="registry-version", daemon=True).start()


def _refresh_for_ever() -> None:
    while True:
        close_old_connections()
        try:
            registry().refresh()
            _away.clear()
        except (Error, PoolTimeout) as error:
            _away.set()
            log.warning("registry.cannot_refresh", error=type(error).__name__)
        time.sleep(settings.REGISTRY_MAX_AGE_SECONDS / 2)
