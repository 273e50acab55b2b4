"""The built-in receiver: takes every POST, says what came, and shows the last ones at GET /.

The sample consumer points here. `?status=503&delay=2` makes it misbehave on purpose.
"""

import argparse
import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import uvicorn

KEPT = 100
MAX_BODY_BYTES = 1024 * 1024
# A line of the log is short; the page has room for a CloudEvent.
LOGGED_CHARACTERS, SHOWN_CHARACTERS = 200, 2_000
LONGEST_DELAY_SECONDS = 60.0

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


logger = logging.getLogger(__name__)


class BodyTooLarge(Exception):
    """The body is larger than 1 MiB."""


class BodyCutOff(Exception):
    """The sender went away before its body was whole; nobody waits for an answer."""


@dataclass(frozen=True)
class Delivery:
    """What is shown of a request. Other headers are not: tokens and signatures are among them."""

    received_at: str
    method: str
    path: str
    message_id: str
    channel: str
    content_type: str
    body: str

    def __str__(self) -> str:
        said = self.body[:LOGGED_CHARACTERS]
        return f"{self.method} {self.path} {self.message_id} of {self.channel}, {self.content_type}: {said}"


class Echo:
    def __init__(self) -> None:
        self._deliveries: deque[Delivery] = deque(maxlen=KEPT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._take(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") and scope["path"] == "/":
            await _answer(send, 200, [asdict(delivery) for delivery in reversed(self._deliveries)])
        else:
            await _answer(send, 405, {"detail": "POST anywhere, or GET /."})

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _read(receive)
        except BodyTooLarge as error:
            return await _answer(send, 413, {"detail": str(error.__doc__)})
        except BodyCutOff:
            return None
        delivery = _delivery(scope, body, datetime.now(UTC))
        self._deliveries.append(delivery)
        logger.info("%s", delivery)
        status, delay = _wishes(scope["query_string"])
        await asyncio.sleep(delay)
        return await _answer(send, status, {"receivedBytes": len(body)})


def _delivery(scope: Scope, body: bytes, now: datetime) -> Delivery:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Delivery(
        received_at=now.isoformat(timespec="milliseconds"),
        method=scope["method"],
        path=_printable(scope["path"]),
        message_id=_printable(headers.get("x-broker-message-id", "-")),
        channel=_printable(headers.get("x-broker-channel-id", "-")),
        content_type=_printable(headers.get("content-type", "-")),
        body=_printable(body[: 4 * SHOWN_CHARACTERS].decode(errors="replace")),
    )


def _printable(text: str) -> str:
    """On one line, cut short, and unable to play tricks on a terminal."""
    shown = text[:SHOWN_CHARACTERS]
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


def _wishes(query: bytes) -> tuple[int, float]:
    """The status and the delay that the sender asks for; what makes no sense is not done."""
    wanted = {name: values[0] for name, values in parse_qs(query.decode("latin-1")).items()}
    status = re.fullmatch(r"[2-5][0-9]{2}", wanted.get("status", ""))
    delay = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", wanted.get("delay", ""))
    return int(status[0]) if status else 200, min(float(delay[0]) if delay else 0.0, LONGEST_DELAY_SECONDS)


async def _read(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise BodyCutOff
        body += event.get("body", b"")
        more = event.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
    return bytes(body)


async def _answer(send: Send, status: int, content: object) -> None:
    body = json.dumps(content, indent=1).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8002)
    port = parser.parse_args().port
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    uvicorn.run(Echo(), host="127.0.0.1", port=port, lifespan="off", ws="none", access_log=False, log_level="info")


if __name__ == "__main__":
    main()
