"""A request body is read to its end, or the request never happened."""

from collections.abc import Iterable

from asgiref.typing import ASGIReceiveCallable, ASGIReceiveEvent

from broker_project.lib.errors import BrokerError


class PayloadTooLarge(BrokerError):
    """The body is larger than this address takes."""

    status = 413


class ClientGone(Exception):
    """The client left before its body was complete; there is nobody to answer."""


async def read_body(
    receive: ASGIReceiveCallable,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    max_bytes: int,
) -> bytes:
    """The whole body, within its size; its time is the protocol's. One announced too large is refused unread."""
    announced = next((int(value) for name, value in headers if name == b"content-length"), 0)
    if announced > max_bytes:
        raise PayloadTooLarge(f"The body is larger than {max_bytes} bytes.")
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        assert event["type"] == "http.request"
        body += event["body"]
        if len(body) > max_bytes:
            raise PayloadTooLarge(f"The body is larger than {max_bytes} bytes.")
        if not event["more_body"]:
            return bytes(body)


def replay(body: bytes) -> ASGIReceiveCallable:
    """A receive that hands over a body that has been read already."""

    async def receive() -> ASGIReceiveEvent:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
