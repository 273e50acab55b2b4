"""The short way: a plain request to a busy address is answered by the protocol itself, without a task or ASGI events.

An address that has one says of each request whether it is plain; whatever is not (a refusal, a limit, a token that is
not at hand) takes the long way through the frame, which decides everything. So the short way says yes, or 503.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import structlog
from django.conf import settings

from broker_project.api.reply import JSON, Reply
from broker_project.api.request_id import request_id_for
from broker_project.lib.errors import BrokerError, ServerError

log = structlog.get_logger("broker.access")

Pairs = Iterable[tuple[bytes, bytes]]
# Beyond this a body is read in pieces, and that is the frame's business.
MAX_BODY_BYTES = 32 * 1024


class Pending(NamedTuple):
    """What is being done: False in the end sends the request the long way."""

    done: asyncio.Future[bool]
    location: bytes


Express = Callable[[str, Pairs, bytes], Pending | None]
_addresses: list[Express] = []


def open_express(address: Express) -> None:
    """From now on these requests are looked at first. A gateway's signature is checked by the frame, always."""
    if not settings.GATEWAY_SECRETS:
        _addresses.append(address)


def is_open() -> bool:
    return bool(_addresses)


def is_short(headers: Pairs) -> bool:
    """Whether the body is short, and announced as such."""
    length = MAX_BODY_BYTES + 1
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            length = int(value)
        elif name in (b"transfer-encoding", b"expect"):
            return False
    return length <= min(MAX_BODY_BYTES, settings.MAX_PAYLOAD_BYTES)


def begin(path: str, headers: Pairs, body: bytes) -> Pending | None:
    for address in _addresses:
        if pending := address(path, headers, body):
            return pending
    return None


def created(location: bytes, headers: Pairs, defaults: Pairs) -> bytes:
    """The same answer as the frame's."""
    head = [(b"content-type", JSON.encode()), (b"content-length", b"0"), (b"cache-control", b"no-store")]
    return _answer(b"201 Created", [*defaults, *head, (b"location", location)], headers, b"")


def refused(error: BaseException, scope: Any, defaults: Pairs) -> bytes:
    """It could not be stored, or nobody knows: the one case in which the short way says no."""
    reply = Reply.problem(error if isinstance(error, BrokerError) else ServerError())
    log.info("request", method="POST", path=scope["raw_path"].decode("latin1"), status=reply.status)
    head = [(b"content-type", reply.content_type.encode()), (b"content-length", str(len(reply.body)).encode())]
    status = f"{reply.status} Refused".encode()
    return _answer(
        status, [*defaults, *head, (b"cache-control", b"no-store"), *reply.headers], scope["headers"], reply.body
    )


def _answer(status: bytes, answered: Pairs, headers: Pairs, body: bytes) -> bytes:
    lines = [b"%s: %s\r\n" % pair for pair in answered]
    request_id = request_id_for(headers).encode()
    return b"HTTP/1.1 %s\r\n%sx-request-id: %s\r\n\r\n%s" % (status, b"".join(lines), request_id, body)
