"""Consumers that ask, in a process of their own: lease a batch, say RUNNING, say COMPLETE, and again.

`python -m benchmarks.pollers '{"port": …, "channel": …}'` says what came of it as JSON. A message's id begins with the
moment it was published, by the clock that all processes share.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import uvloop

from benchmarks.percentiles import percentile
from benchmarks.prepared import CHANNEL_TOKEN

CONSUMER, CONSUMER_TOKEN = "k", "mine"


@dataclass(frozen=True)
class Polling:
    """Ends when so many jobs are done. `says_running`: an acknowledgement of the start for each, in batches too."""

    port: int
    channel: str
    jobs: int
    pollers: int = 1
    limit: int = 100
    wait_seconds: float = 5.0
    says_running: bool = False


@dataclass
class Polled:
    """How long it took from the first lease, and each job from its publishing to its lease and its first ack."""

    seconds: float = 0.0
    to_lease_p50_ms: float = 0.0
    to_lease_p99_ms: float = 0.0
    to_ack_p50_ms: float = 0.0
    to_ack_p99_ms: float = 0.0


@dataclass
class Run:
    polling: Polling
    left: int
    began: float = 0.0
    to_lease: list[float] = field(default_factory=list)
    to_ack: list[float] = field(default_factory=list)

    async def go(self) -> Polled:
        await asyncio.gather(*(self._poll() for _ in range(self.polling.pollers)))
        seconds = time.monotonic() - self.began
        lease, ack = self.to_lease, self.to_ack
        return Polled(seconds, percentile(lease, 50), percentile(lease, 99), percentile(ack, 50), percentile(ack, 99))

    async def _poll(self) -> None:
        caller = await Caller.open(self.polling)
        asked = {"limit": self.polling.limit, "waitSeconds": self.polling.wait_seconds}
        while self.left > 0:
            jobs = (await caller.post("lease", asked))["result"]
            if not jobs:
                continue
            self.began = self.began or time.monotonic()
            published = [int(job["message"]["messageId"].partition("-")[0]) for job in jobs]
            self.to_lease += _ages(published)
            if self.polling.says_running:
                await caller.post("acks", _acks(jobs, "RUNNING"))
                self.to_ack += _ages(published)
            await caller.post("acks", _acks(jobs, "COMPLETE"))
            self.left -= len(jobs)


@dataclass
class Caller:
    """One connection, kept alive."""

    head: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, polling: Polling) -> "Caller":
        reader, writer = await asyncio.open_connection("127.0.0.1", polling.port, limit=2**26)
        head = (
            f"POST /channel/{polling.channel}/consumer/{CONSUMER}/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nX-Broker-Channel-Token: {CHANNEL_TOKEN}\r\n"
            f"X-Broker-Consumer-Token: {CONSUMER_TOKEN}\r\nContent-Length: %d\r\n\r\n"
        )
        return cls(head, reader, writer)

    async def post(self, door: str, document: Any) -> Any:
        body = json.dumps(document).encode()
        self.writer.write((self.head % (door, len(body))).encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer = await self.reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"{door} was answered {head[:15]!r} {answer[:300]!r}")
        return json.loads(answer)


def _acks(jobs: list[dict[str, Any]], status: str) -> list[dict[str, Any]]:
    return [{"jobId": job["id"], "attempt": job["attempt"], "status": status} for job in jobs]


def _ages(published: list[int]) -> list[float]:
    now = time.monotonic_ns()
    return [(now - each) / 1e6 for each in published]


async def main(polling: Polling) -> None:
    print(json.dumps(asdict(await Run(polling, polling.jobs).go())))


if __name__ == "__main__":
    uvloop.run(main(Polling(**json.loads(sys.argv[1]))))
