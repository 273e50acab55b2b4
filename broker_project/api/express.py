"""The short way: a plain request to a busy address is answered by the protocol itself, without a task or ASGI events.

An address that has one says of each request whether it is plain; whatever is not (a refusal, a limit, a token that is
not at hand) takes the long way through the frame, which decides everything. So the short way can only say yes.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings

from broker_project.api.reply import JSON, Reply
from broker_project.api.request_id import request_id_for
from broker_project.lib.errors import BrokerError

Pairs = list[tuple[bytes, bytes]]
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


def body_length(headers: Pairs) -> int | None:
    """The length of a body that is short and announced as such."""
    length = None
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            length = int(value)
        elif name in (b"transfer-encoding", b"expect"):
            return None
    return length if length is not None and length <= min(MAX_BODY_BYTES, settings.MAX_PAYLOAD_BYTES) else None


def begin(path: str, headers: Pairs, body: bytes) -> Pending | None:
    for address in _addresses:
        if pending := address(path, headers, body):
            return pending
    return None


def created(location: bytes, headers: Pairs, defaults: Pairs) -> bytes:
    """The same answer as the frame's."""
    head = [(b"content-type", JSON.encode()), (b"content-length", b"0"), (b"cache-control", b"no-store")]
    return _answer(b"201 Created", [*defaults, *head, (b"location", location)], headers, b"")


def refused(error: BrokerError, headers: Pairs, defaults: Pairs) -> bytes:
    reply = Reply.problem(error)
    head = [(b"content-type", reply.content_type.encode()), (b"content-length", str(len(reply.body)).encode())]
    status = f"{reply.status} Refused".encode()
    return _answer(status, [*defaults, *head, (b"cache-control", b"no-store"), *reply.headers], headers, reply.body)


def _answer(status: bytes, answered: Pairs, headers: Pairs, body: bytes) -> bytes:
    lines = [b"%s: %s\r\n" % pair for pair in answered]
    request_id = request_id_for(headers).encode()
    return b"HTTP/1.1 %s\r\n%sx-request-id: %s\r\n\r\n%s" % (status, b"".join(lines), request_id, body)
