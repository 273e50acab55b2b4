"""The bytes that the load client sends, made before the clock starts; only the id of a message is new each time."""

import itertools
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

CHANNEL_TOKEN, PRODUCER, PRODUCER_TOKEN = "open", "bench", "bench"
PAYLOAD = json.dumps({"order": 4711, "note": "x" * 229}).encode()


def singles(channel: str) -> Iterator[bytes]:
    """Each id begins with the moment it was made, so that the receiver knows how long the message took."""
    before, after = (
        _head(f"/channel/{channel}/broadcast", len(PAYLOAD), b"X-Broker-Message-ID: "),
        b"\r\n\r\n" + PAYLOAD,
    )
    return (before + new_id() + after for _ in itertools.count())


def singles_for_later(channel: str, first_due: float, due_every: float) -> Iterator[bytes]:
    """Each id begins with the moment it is due, so that the receiver knows how late it was."""
    before = _head(f"/channel/{channel}/broadcast", len(PAYLOAD), b"X-Broker-Message-ID: ")
    after = b"\r\n\r\n" + PAYLOAD
    return (
        b"%b%b\r\nX-Broker-Scheduled-For: %b%b" % (before, due_id(due), _iso(due).encode(), after)
        for due in itertools.count(round(first_due * 1_000_000), round(due_every * 1_000_000))
    )


def batches(channel: str, size: int, requests: int) -> Iterator[bytes]:
    return iter([_batch(channel, [{"messageId": new_id().decode()} for _ in range(size)]) for _ in range(requests)])


def batches_for_later(channel: str, size: int, requests: int, due_at: float) -> Iterator[bytes]:
    """All are due at one instant."""
    due = round(due_at * 1_000_000)
    items = [
        [{"messageId": due_id(due).decode(), "scheduledFor": _iso(due)} for _ in range(size)] for _ in range(requests)
    ]
    return iter([_batch(channel, several) for several in items])


def _batch(channel: str, items: list[dict[str, str]]) -> bytes:
    body = json.dumps([{**item, "payload": PAYLOAD.decode()} for item in items]).encode()
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


def _iso(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()


def new_id() -> bytes:
    return b"%d-%d" % (time.monotonic_ns(), next(_counter))


def due_id(microseconds: int) -> bytes:
    """A moment of the wall clock, as the receiver's clock will tell it."""
    return b"%d-%d" % (microseconds * 1_000 - _BEHIND_NS, next(_counter))


_counter = itertools.count()
_BEHIND_NS = time.time_ns() - time.monotonic_ns()
