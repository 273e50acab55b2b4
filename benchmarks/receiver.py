"""The consumer that counts: a raw asyncio server in a process of its own.

The path says how it answers: /ok/… at once, /slow/… one in a hundred after a second, /hang/… after 30 seconds,
/fail/… at once that it cannot.
GET /seen/ok/… tells the benchmark what came to /ok/….
"""

import asyncio
import json
import re
import time
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from typing import cast

import uvloop

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FAILURE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 12\r\n\r\nout of order"
HANG_SECONDS = 30.0
SLOW_SECONDS = 1.0
SLOW_EVERY = 100
SEEN = "/seen"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
# The load client puts the moment of sending into the message's id.
SENT = re.compile(rb"\r\nx-broker-message-id: *(\d{12,})-", re.IGNORECASE)


@dataclass
class Seen:
    """What came to one path: when, in seconds of the monotonic clock, and how many ms after it was sent."""

    at: "array[float]" = field(default_factory=lambda: array("d"))
    under_way_ms: "array[float]" = field(default_factory=lambda: array("d"))

    def note(self, head: bytes) -> None:
        now = time.monotonic_ns()
        self.at.append(now / 1e9)
        if sent := SENT.search(head):
            self.under_way_ms.append((now - int(sent[1])) / 1e6)

    def as_json(self) -> bytes:
        return json.dumps({"at": list(self.at), "under_way_ms": list(self.under_way_ms)}).encode()


class Answering(asyncio.Protocol):
    def __init__(self, seen: defaultdict[str, Seen]) -> None:
        self._seen = seen
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of their own kind.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while head := self._next():
            self._answer(head)

    def _next(self) -> bytes:
        """The head of the next whole request, which is taken off the buffer."""
        end = self._buffer.find(b"\r\n\r\n") + 4
        if end < 4:
            return b""
        head = self._buffer[:end]
        length = LENGTH.search(head)
        whole = end + (int(length[1]) if length else 0)
        if len(self._buffer) < whole:
            return b""
        self._buffer = self._buffer[whole:]
        return head

    def _answer(self, head: bytes) -> None:
        path = head.split(b" ", 2)[1].decode()
        if path.startswith(SEEN):
            return self._tell(self._seen[path.removeprefix(SEEN)].as_json())
        seen = self._seen[path]
        seen.note(head)
        answer = FAILURE if path.startswith("/fail/") else ANSWER
        if wait := wait_seconds(path, len(seen.at)):
            asyncio.get_running_loop().call_later(wait, self._write, answer)
        else:
            self._write(answer)
        return None

    def _tell(self, body: bytes) -> None:
        self._write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    def _write(self, answer: bytes) -> None:
        """Whoever hung up meanwhile gets none."""
        if self._transport and not self._transport.is_closing():
            self._transport.write(answer)


def wait_seconds(path: str, count: int) -> float:
    if path.startswith("/hang/"):
        return HANG_SECONDS
    return SLOW_SECONDS if path.startswith("/slow/") and count % SLOW_EVERY == 0 else 0.0


async def main() -> None:
    seen: defaultdict[str, Seen] = defaultdict(Seen)
    server = await asyncio.get_running_loop().create_server(lambda: Answering(seen), "127.0.0.1", 0, backlog=4096)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
