"""Looks up the hosts of callback URLs. A name whose servers do not answer holds up nobody but itself.

The event loop's own look-ups share four threads: a handful of names that hang would hold up every new host. Here each
look-up has a thread of its own, a host that still hangs is not asked for again, and nobody waits beyond a limit.
"""

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import Callable
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

LOOK_UP_SECONDS = 10.0
MOST_LOOK_UPS = 256

LookUp = Callable[..., list[Any]]
_Key = tuple[str, int, int]


class LookUpFailed(OSError):
    """The name could not be looked up, or not in time."""

    def __init__(self, words: str) -> None:
        # With a number: of an error without one, the client shows no words.
        super().__init__(errno.EHOSTUNREACH, words)


class Lookups(AbstractResolver):
    """`look_up` is called as socket.getaddrinfo is, in a thread."""

    def __init__(self, look_up: LookUp = socket.getaddrinfo) -> None:
        self._look_up = look_up
        self._running: dict[_Key, asyncio.Future[list[Any]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        running = self._running.get((host, port, family)) or self._begin((host, port, family))
        try:
            # Whoever stops waiting leaves the look-up to the others.
            found = await asyncio.wait_for(asyncio.shield(running), LOOK_UP_SECONDS)
        except TimeoutError as error:
            raise LookUpFailed("the look-up took too long") from error
        return [_result(host, port, one) for one in found]

    async def close(self) -> None:
        """Threads end with their look-up; nobody waits for them."""

    def _begin(self, key: _Key) -> asyncio.Future[list[Any]]:
        if len(self._running) >= MOST_LOOK_UPS:
            raise LookUpFailed("too many look-ups hang")
        loop = asyncio.get_running_loop()
        running = self._running[key] = loop.create_future()
        running.add_done_callback(lambda done: self._end(key, done))
        # A daemon: a look-up that hangs does not keep the process from ending.
        threading.Thread(target=self._ask, args=(key, loop, running), name="look-up", daemon=True).start()
        return running

    def _ask(self, key: _Key, loop: asyncio.AbstractEventLoop, running: asyncio.Future[list[Any]]) -> None:
        host, port, family = key
        try:
            found = self._look_up(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except OSError as error:
            _tell(loop, running.set_exception, error)
        except (ValueError, OverflowError) as error:
            _tell(loop, running.set_exception, LookUpFailed(f"not a name: {error}"))
        else:
            _tell(loop, running.set_result, found)

    def _end(self, key: _Key, done: asyncio.Future[list[Any]]) -> None:
        del self._running[key]
        # Looked at even if everybody has gone: asyncio would complain of an error that nobody saw.
        done.exception()


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[Any], None], value: Any) -> None:
    """The loop may have ended meanwhile; then nobody wants to know."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(act, value)


def _result(host: str, port: int, info: Any) -> ResolveResult:
    family, _, protocol, _, address = info
    return ResolveResult(
        hostname=host, host=address[0], port=port, family=family, proto=protocol, flags=socket.AI_NUMERICHOST
    )
