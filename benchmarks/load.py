"""The load: a raw asyncio client in a process of its own, as quick as Python gets, so that it measures the broker.

`python -m benchmarks.load '{"port": …, "channel": …}'` says what came of it as JSON.
"""

import asyncio
import json
import re
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import cast

import uvloop

from benchmarks import prepared_dapr
from benchmarks.percentiles import percentile
from benchmarks.prepared import batches, batches_for_later, singles, singles_for_later

ACCEPTED = ("201", "204")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """Ends after so many requests, or so many seconds. With a rate it is even; without, as fast as it is answered."""

    port: int
    channel: str
    connections: int = 32
    requests: int = sys.maxsize
    seconds: float = 3600.0
    per_second: float = 0.0
    batch: int = 0
    # By which door: broadcast, dapr, or dapr's jobs.
    door: str = "broadcast"
    # For later: in how many seconds the first is due, and how far apart the others are; a batch is due at once.
    due_in: float = 0.0
    due_every: float = 0.0


@dataclass(frozen=True)
class Loaded:
    """What came of it: requests by status, and how long those that were accepted took."""

    statuses: dict[str, int]
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def accepted(self) -> int:
        return sum(self.statuses.get(status, 0) for status in ACCEPTED)


class Client(asyncio.Protocol):
    """One connection, kept alive; one request at a time."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._buffer = b""
        self._began = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of their own kind.
        self._transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes) -> None:
        assert self._transport
        self._began = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n") + 4
        if end >= 4 and len(self._buffer) >= end + _body_bytes(self._buffer[:end]):
            status, self._buffer = self._buffer[9:12].decode(), b""
            self._run.answered(self, status, time.perf_counter() - self._began)

    def connection_lost(self, exc: Exception | None) -> None:
        self._run.lost()


class Run:
    def __init__(self, load: Load, prepared: Iterator[bytes]) -> None:
        self._load, self._requests = load, prepared
        self._statuses: Counter[str] = Counter()
        self._took = array("d")
        self._left = load.requests
        self._idle: list[Client] = []
        self._ended = asyncio.get_running_loop().create_future()

    async def go(self) -> Loaded:
        loop = asyncio.get_running_loop()
        for _ in range(self._load.connections):
            _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", self._load.port)
            self._idle.append(client)
        began = time.perf_counter()
        self._until = began + self._load.seconds
        await (self._evenly() if self._load.per_second else self._at_full_rate())
        seconds = time.perf_counter() - began
        took = [one * 1000 for one in self._took]
        return Loaded(dict(self._statuses), seconds, percentile(took, 50), percentile(took, 99))

    def answered(self, client: Client, status: str, seconds: float) -> None:
        self._statuses[status] += 1
        if status in ACCEPTED:
            self._took.append(seconds)
        if self._load.per_second or not self._more():
            self._rest(client)
        else:
            client.send(next(self._requests))

    def lost(self) -> None:
        if not self._ended.done():
            self._ended.set_exception(ConnectionError("the broker hung up"))

    async def _at_full_rate(self) -> None:
        clients, self._idle = self._idle, []
        for client in clients:
            client.send(next(self._requests)) if self._more() else self._rest(client)
        await self._ended

    async def _evenly(self) -> None:
        began = time.perf_counter()
        for number in range(min(self._load.requests, int(self._load.seconds * self._load.per_second))):
            await asyncio.sleep(max(0.0, began + number / self._load.per_second - time.perf_counter()))
            while not self._idle:
                await asyncio.sleep(0.001)
            self._idle.pop(0).send(next(self._requests))
        self._left = 0
        if len(self._idle) < self._load.connections:
            await self._ended

    def _more(self) -> bool:
        """Counts one request off, if there is one more."""
        if self._left <= 0 or time.perf_counter() > self._until:
            return False
        self._left -= 1
        return True

    def _rest(self, client: Client) -> None:
        self._idle.append(client)
        over = not self._load.per_second or self._left == 0
        if over and len(self._idle) == self._load.connections and not self._ended.done():
            self._ended.set_result(None)


def _body_bytes(head: bytes) -> int:
    """An answer without a body need not say so."""
    length = LENGTH.search(head)
    return int(length[1]) if length else 0


async def main(load: Load) -> None:
    print(json.dumps(asdict(await Run(load, _prepared(load)).go())))


def _prepared(load: Load) -> Iterator[bytes]:
    if load.door == "jobs":
        return prepared_dapr.jobs()
    if load.door == "dapr":
        return prepared_dapr.bulks(load.channel, load.batch) if load.batch else prepared_dapr.events(load.channel)
    first_due = time.time() + load.due_in
    if load.batch and load.due_in:
        return batches_for_later(load.channel, load.batch, load.requests, first_due)
    if load.batch:
        return batches(load.channel, load.batch, load.requests)
    if load.due_in:
        return singles_for_later(load.channel, first_due, load.due_every)
    return singles(load.channel)


if __name__ == "__main__":
    uvloop.run(main(Load(**json.loads(sys.argv[1]))))
