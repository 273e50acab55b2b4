"""The consumers' end, a process of its own that outlives every blow: writes down each delivery, then answers 200.

What is posted to /slow is answered a little later, and what is posted to /held not before /release was called.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import httpx
import uvicorn

from tests.acceptance.servers import ROOT, free_port, wait_until

SLOW_SECONDS = 0.1
HEADERS = ("channel-id", "consumer-id", "message-id", "job-id", "attempt")


class Delivery(NamedTuple):
    channel: str
    consumer: str
    message_id: str
    job_id: int
    attempt: int
    # The sender's end of the connection: it tells which worker holds the job.
    port: int


@dataclass
class Receiver:
    """The test's view of it."""

    url: str
    record: Path
    _read: int = 0
    _deliveries: list[Delivery] = field(default_factory=list)

    def deliveries(self) -> list[Delivery]:
        with self.record.open() as file:
            file.seek(self._read)
            whole, _, _ = file.read().rpartition("\n")
        self._read += len(whole) + bool(whole)
        self._deliveries += [_delivery(line) for line in whole.splitlines()]
        return self._deliveries

    def release(self) -> None:
        httpx.post(f"{self.url}/release")


def _delivery(line: str) -> Delivery:
    channel, consumer, message_id, *numbers = line.split("\t")
    return Delivery(channel, consumer, message_id, *map(int, numbers))


@contextmanager
def receiving(directory: Path) -> Iterator[Receiver]:
    port, record = free_port(), directory / "deliveries"
    record.touch()
    words = [sys.executable, "-m", "tests.chaos.receiver", "--port", str(port), "--record", str(record)]
    process = subprocess.Popen(words, cwd=ROOT)
    receiver = Receiver(f"http://127.0.0.1:{port}", record)
    try:
        wait_until(lambda: _answers(receiver), 60)
        yield receiver
    finally:
        process.kill()
        process.wait()


def _answers(receiver: Receiver) -> bool:
    try:
        return httpx.get(f"{receiver.url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


class Application:
    def __init__(self, record: TextIO) -> None:
        self._record = record
        self._released = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        if scope["path"] == "/release":
            self._released.set()
        elif scope["method"] == "POST":
            await self._take(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def _take(self, scope: Any) -> None:
        headers = dict(scope["headers"])
        words = [headers[f"x-broker-{name}".encode()].decode() for name in HEADERS]
        self._record.write("\t".join([*words, str(scope["client"][1])]) + "\n")
        if scope["path"] == "/slow":
            await asyncio.sleep(SLOW_SECONDS)
        if scope["path"] == "/held":
            await self._released.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--record", type=Path, required=True)
    options = parser.parse_args()
    with options.record.open("a", buffering=1) as record:
        # Connections are kept for long: one closed under a sender would be a failure of ours, not of the broker.
        uvicorn.run(
            Application(record), port=options.port, lifespan="off", log_level="warning", timeout_keep_alive=3600
        )


if __name__ == "__main__":
    main()
