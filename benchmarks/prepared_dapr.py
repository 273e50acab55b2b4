"""The bytes of Dapr's clients: the same payload as a broadcast's, by the other door."""

import itertools
import json
from collections.abc import Iterator

from benchmarks.prepared import PAYLOAD, PRODUCER_TOKEN, new_id

COMPONENT = "bench"
# A job for tomorrow: none is due while it is measured.
JOB = json.dumps({"dueTime": "24h", "data": json.loads(PAYLOAD)}).encode()


def events(topic: str) -> Iterator[bytes]:
    return itertools.repeat(_request(f"/v1.0/publish/{COMPONENT}/{topic}", PAYLOAD))


def bulks(topic: str, size: int) -> Iterator[bytes]:
    entry = {"event": json.loads(PAYLOAD), "contentType": "application/json"}
    body = json.dumps([{"entryId": str(place), **entry} for place in range(size)]).encode()
    return itertools.repeat(_request(f"/v1.0/publish/bulk/{COMPONENT}/{topic}", body))


def jobs() -> Iterator[bytes]:
    """Each under a name of its own."""
    return (_request(f"/v1.0/jobs/{new_id().decode()}", JOB) for _ in itertools.count())


def _request(path: str, body: bytes) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"dapr-api-token: {PRODUCER_TOKEN}",
        "\r\n",
    ]
    return "\r\n".join(lines).encode() + body
