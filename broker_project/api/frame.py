"""The ASGI frame in front of Django: it reads each body to its end before anybody works on the request.

Slow uploads wait here, in the event loop, and hold no thread. What must be fast or must answer while
Django is busy (health, the broadcast door) is a Route; everything else goes to Django's threads.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import structlog
from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from django.conf import settings

from broker_project.api.body import ClientGone, read_body, replay
from broker_project.api.head import check_head
from broker_project.api.reply import Refusal, Reply, Sender
from broker_project.api.request_id import request_id_for
from broker_project.lib import signing
from broker_project.lib.errors import BrokerError, ServerError

log = structlog.get_logger("broker.access")

Headers = list[tuple[bytes, bytes]]
Hook = Callable[[], Awaitable[None]]


class MethodNotAllowed(BrokerError):
    """This address does not know that method."""

    status = 405


@dataclass(frozen=True)
class Request:
    """What a handler of the frame gets: everything is read, nothing more will come."""

    method: str
    path: str
    query: bytes
    headers: Headers
    body: bytes
    # Whose connection this is; a trusted proxy's word counts.
    address: str = ""
    # Set when the client has left; only where the route is watched.
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Route:
    """An address answered by the frame itself."""

    path: re.Pattern[str]
    methods: tuple[str, ...]
    handler: Callable[[Request], Awaitable[Reply]]
    max_bytes: int = 0
    signed: bool = True
    quiet: bool = False
    # The handler may take long: it wants to know when its client has left.
    watched: bool = False
    # Django serves this address too: methods that are not named here are its business.
    shared: bool = False
    # Held around the rest of the request, before its body is read: for bodies that a stranger may not send us.
    gate: Callable[[Request], AbstractAsyncContextManager[None]] | None = None
    # How a refusal is told here; another system's door has a shape of its own.
    refusal: Refusal = Reply.problem

    def takes(self, method: str, path: str) -> bool:
        return self.path.fullmatch(path) is not None and (method in self.methods or not self.shared)


@dataclass
class Frame:
    """The application that the web server runs."""

    routes: Sequence[Route]
    fallback: ASGI3Application
    on_start: Sequence[Hook] = ()
    on_stop: Sequence[Hook] = ()
    secrets: Sequence[str] = field(default_factory=lambda: settings.GATEWAY_SECRETS)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000, "reason": ""})

    async def _live(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await receive()
        for hook in self.on_start:
            await hook()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for hook in self.on_stop:
            await hook()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        started = time.perf_counter()
        request_id = request_id_for(scope["headers"])
        structlog.contextvars.bind_contextvars(request_id=request_id)
        sender = Sender(send, request_id)
        try:
            await self._answer(scope, receive, sender)
        except ClientGone:
            sender.status = 499
        except BrokerError as error:
            await sender.refuse(error)
        except Exception:
            log.exception("request.failed", method=scope["method"], path=_path(scope))
            await sender.refuse(ServerError())
        # A broker that is busy writes no line per message.
        if sender.status not in (200, 201, 204) or not sender.quiet:
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            log.info("request", method=scope["method"], path=_path(scope), status=sender.status, ms=milliseconds)

    async def _answer(self, scope: HTTPScope, receive: ASGIReceiveCallable, sender: Sender) -> None:
        route = next((route for route in self.routes if route.takes(scope["method"], scope["path"])), None)
        if route is not None:
            sender.refusal = route.refusal
        check_head(scope)
        if route is not None and route.gate is not None and scope["method"] in route.methods:
            async with route.gate(_request(scope, b"")):
                await self._read_and_answer(route, scope, receive, sender)
        else:
            await self._read_and_answer(route, scope, receive, sender)

    async def _read_and_answer(
        self, route: Route | None, scope: HTTPScope, receive: ASGIReceiveCallable, sender: Sender
    ) -> None:
        body = await read_body(
            receive,
            scope["headers"],
            max_bytes=route.max_bytes if route else settings.MAX_PAYLOAD_BYTES,
        )
        sender.body_was_read = True
        if self.secrets and (route is None or route.signed):
            self._check_signature(scope["headers"], body)
        if route is None:
            await self.fallback(_for_django(scope, body), replay(body), sender)
        else:
            sender.quiet = route.quiet
            request = _request(scope, body)
            async with _watching(request.gone, receive) if route.watched else nullcontext():
                reply = await _handle(route, request)
            await sender.reply(reply)

    def _check_signature(self, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        header = b",".join(value for name, value in headers if name == b"x-broker-signature")
        signing.verify(header.decode("latin1"), body, secrets=self.secrets, now=time.time())


@asynccontextmanager
async def _watching(gone: asyncio.Event, receive: ASGIReceiveCallable) -> AsyncIterator[None]:
    """After the body nothing comes but the word that the client has left."""

    async def watch() -> None:
        await receive()
        gone.set()

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()


async def _handle(route: Route, request: Request) -> Reply:
    if request.method not in route.methods:
        reply = route.refusal(MethodNotAllowed())
        return Reply(reply.status, reply.body, reply.content_type, [(b"allow", ", ".join(route.methods).encode())])
    return await route.handler(request)


def _request(scope: HTTPScope, body: bytes) -> Request:
    client = scope["client"]
    address = client[0] if client else ""
    return Request(scope["method"], scope["path"], scope["query_string"], list(scope["headers"]), body, address)


def _path(scope: HTTPScope) -> str:
    """As it was sent, percent-encoded: no control character reaches a terminal."""
    return (scope["raw_path"] or b"").decode("latin1")


def _for_django(scope: HTTPScope, body: bytes) -> HTTPScope:
    """The request as it is now: whole, with its true length.

    A name with an underscore is dropped: in WSGI it cannot be told from the one with a dash.
    """
    dropped = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in scope["headers"] if name not in dropped and b"_" not in name]
    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}
