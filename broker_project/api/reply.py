"""What the frame sends: one whole answer, or Django's, with the request id on either."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from asgiref.typing import ASGISendCallable, ASGISendEvent

from broker_project.api import problems
from broker_project.lib.errors import BrokerError

JSON = "application/json"


@dataclass(frozen=True)
class Reply:
    """One whole answer of a handler."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    @classmethod
    def problem(cls, error: BrokerError, headers: Sequence[tuple[bytes, bytes]] = (), **more: object) -> "Reply":
        if error.errors:
            more = {"errors": error.errors, **more}
        body = problems.encode(error.status, error.code, error.detail, **more)
        return cls(error.status, body, problems.CONTENT_TYPE, [*retry_after(error), *headers])


def retry_after(error: BrokerError) -> list[tuple[bytes, bytes]]:
    """The header that says when to come back, where that can be said."""
    wait = error.retry_after_seconds or (problems.RETRY_AFTER_SECONDS if error.status == 503 else None)
    return [(b"retry-after", str(wait).encode())] if wait else []


# Makes the answer that says no.
Refusal = Callable[[BrokerError], Reply]


class Sender:
    """The send of one request: puts the request id on whatever goes out and remembers the status."""

    def __init__(self, send: ASGISendCallable, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0
        self.body_was_read = False
        self.quiet = False
        self.refusal: Refusal = Reply.problem

    async def __call__(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
            event["headers"] = [*event["headers"], (b"x-request-id", self._request_id.encode())]
        await self._send(event)

    async def reply(self, reply: Reply) -> None:
        head = [*_described(reply), (b"cache-control", b"no-store"), *reply.headers]
        await self({"type": "http.response.start", "status": reply.status, "headers": head, "trailers": False})
        await self({"type": "http.response.body", "body": reply.body, "more_body": False})

    async def refuse(self, error: BrokerError) -> None:
        """Answer no, unless an answer is under way. An unread body ends the connection."""
        if self.status:
            return
        reply = self.refusal(error)
        ending = [] if self.body_was_read else [(b"connection", b"close")]
        await self.reply(Reply(reply.status, reply.body, reply.content_type, [*reply.headers, *ending]))


def _described(reply: Reply) -> list[tuple[bytes, bytes]]:
    """Of what is not there nothing is said: a 204 has neither type nor length."""
    if reply.status == 204:
        return []
    return [(b"content-type", reply.content_type.encode()), (b"content-length", str(len(reply.body)).encode())]
