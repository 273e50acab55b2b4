"""The bytes that the load client sends, made before the clock starts; only the id of a message is new each time."""

import itertools
import json
import time
from collections.abc import Callable, Iterator

CHANNEL_TOKEN, PRODUCER, PRODUCER_TOKEN = "open", "bench", "bench"
PAYLOAD = json.dumps({"order": 4711, "note": "x" * 229}).encode()


def singles(channel: str) -> Iterator[bytes]:
    """Each id begins with the moment it was made, so that the receiver knows how long the message took."""
    before, after = (
        _head(f"/channel/{channel}/broadcast", len(PAYLOAD), b"X-Broker-Message-ID: "),
        b"\r\n\r\n" + PAYLOAD,
    )
    return (before + new_id() + after for _ in itertools.count())


def batches(channel: str, size: int, requests: int) -> Iterator[bytes]:
    return iter([_batch(channel, size) for _ in range(requests)])


def _batch(channel: str, size: int) -> bytes:
    items = [{"messageId": new_id().decode(), "payload": PAYLOAD.decode()} for _ in range(size)]
    body = json.dumps(items).encode()
    return _head(f"/channel/{channel}/broadcast/batch", len(body), b"") + b"\r\n" + body


def _head(path: str, length: int, last: bytes) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"X-Broker-Channel-Token: {CHANNEL_TOKEN}",
        f"X-Broker-Producer-ID: {PRODUCER}",
        f"X-Broker-Producer-Token: {PRODUCER_TOKEN}",
        "",
    ]
    return "\r\n".join(lines).encode() + last


def _ids() -> Callable[[], bytes]:
    counter = itertools.count()
    return lambda: b"%d-%d" % (time.monotonic_ns(), next(counter))


new_id = _ids()
