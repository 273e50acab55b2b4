"""The short way: a plain request to a busy address is answered by the protocol itself, without a parser or a task.

Plain is what arrives whole and at once, in the simplest form there is; an address with a short way says of each such
request whether it takes it. Whatever is not plain (a refusal, a limit, a token that is not at hand) takes the long way
through the parser and the frame, which decide everything. So the short way says yes, or 503.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import structlog
from django.conf import settings

from broker_project.api.reply import JSON, Refusal, Reply
from broker_project.api.request_id import request_id_for
from broker_project.lib.errors import BrokerError, ServerError

log = structlog.get_logger("broker.access")

Pairs = Iterable[tuple[bytes, bytes]]
# Beyond these a request is read in pieces, or refused, and both is the frame's business.
MAX_BYTES = 32 * 1024
MAX_HEAD_BYTES = min(settings.MAX_TARGET_BYTES, settings.MAX_HEADER_BYTES)
MAX_BODY_BYTES = settings.MAX_PAYLOAD_BYTES
# Far stricter than HTTP: no query, no escape, no folded line. Possessive, so that no input makes it look back.
_HEAD = re.compile(rb"POST (/[A-Za-z0-9._~/-]++) HTTP/1\.1\r\n((?:[A-Za-z0-9-]++:[\t\x20-\x7e\x80-\xff]*+\r\n)++)\r\n")
# These say how to read on, or what to do afterwards.
_NOT_PLAIN = frozenset((b"transfer-encoding", b"expect", b"connection", b"upgrade"))


class Plain(NamedTuple):
    """A request of which nothing is missing and nothing follows."""

    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Pending(NamedTuple):
    """What is being done: False in the end sends the request the long way. Without a location the answer is 204."""

    done: asyncio.Future[bool]
    location: bytes | None = None
    refusal: Refusal = Reply.problem


Express = Callable[[Plain], Pending | None]
_addresses: list[Express] = []


def open_express(address: Express) -> None:
    """From now on these requests are looked at first. A gateway's signature is checked by the frame, always."""
    if not settings.GATEWAY_SECRETS:
        _addresses.append(address)


def read(data: bytes) -> Plain | None:
    """None: it is not plain, or too large to be."""
    found = _HEAD.match(data) if _addresses and len(data) <= MAX_BYTES else None
    if found is None or found.end() > MAX_HEAD_BYTES:
        return None
    headers, lengths = [], []
    for line in found[2].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if name in _NOT_PLAIN and (name, value.lower()) != (b"connection", b"keep-alive"):
            return None
        if name == b"content-length":
            lengths.append(value)
        headers.append((name, value))
    body = data[found.end() :]
    if lengths != [b"%d" % len(body)] or len(body) > MAX_BODY_BYTES:
        return None
    return Plain(found[1].decode(), headers, body)


def begin(request: Plain) -> Pending | None:
    for address in _addresses:
        if pending := address(request):
            return pending
    return None


def accepted(request: Plain, pending: Pending, defaults: Pairs) -> bytes:
    """The same answer as the frame's."""
    if pending.location is None:
        return _answer(b"204 No Content", [*defaults, (b"cache-control", b"no-store")], request.headers, b"")
    head = [(b"content-type", JSON.encode()), (b"content-length", b"0"), (b"cache-control", b"no-store")]
    return _answer(b"201 Created", [*defaults, *head, (b"location", pending.location)], request.headers, b"")


def refused(error: BaseException, request: Plain, pending: Pending, defaults: Pairs) -> bytes:
    """It could not be stored, or nobody knows: the one case in which the short way says no."""
    reply = pending.refusal(error if isinstance(error, BrokerError) else ServerError())
    log.info("request", method="POST", path=request.path, status=reply.status)
    head = [(b"content-type", reply.content_type.encode()), (b"content-length", str(len(reply.body)).encode())]
    status = f"{reply.status} Refused".encode()
    return _answer(
        status, [*defaults, *head, (b"cache-control", b"no-store"), *reply.headers], request.headers, reply.body
    )


def _answer(status: bytes, answered: Pairs, headers: Pairs, body: bytes) -> bytes:
    lines = [b"%s: %s\r\n" % pair for pair in answered]
    request_id = request_id_for(headers).encode()
    return b"HTTP/1.1 %s\r\n%sx-request-id: %s\r\n\r\n%s" % (status, b"".join(lines), request_id, body)
