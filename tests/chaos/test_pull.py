"""Consumers that ask are killed, forget, fail, lose the web server: all is done, and no two hold a job at once."""

import json
import random
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from tests.acceptance.servers import ROOT, wait_until
from tests.chaos.broker import Broker
from tests.chaos.scale import Scale

POLLERS = 8
LEASE_SECONDS = 3.0
BETWEEN_BLOWS_SECONDS = 0.5
PATIENCE_SECONDS = 900.0
STATES = """
SELECT j.status, count(*) FROM delivery_job j JOIN channel c ON c.id = j.channel_id
WHERE c.public_id = %s GROUP BY j.status
"""
DELIVERED = 1003


@dataclass
class Pollers:
    """Killed and started again, in no order."""

    broker: Broker
    path: str
    directory: Path
    running: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self) -> None:
        host, port = self.broker.address
        history = self.directory / f"{uuid.uuid4().hex}.history"
        told = {
            "host": host,
            "port": port,
            "path": self.path,
            "history": str(history),
            "lease_seconds": LEASE_SECONDS,
            "limit": 10,
        }
        words = [sys.executable, "-m", "tests.chaos.poller", json.dumps(told)]
        self.running.append(subprocess.Popen(words, cwd=ROOT))

    def kill_one(self) -> None:
        poller = self.running.pop(random.randrange(len(self.running)))
        poller.kill()
        poller.wait()

    def history(self) -> Iterator[list[str]]:
        for path in self.directory.glob("*.history"):
            for line in path.read_text().splitlines():
                yield line.split()


@contextmanager
def polling(broker: Broker, path: str, directory: Path) -> Iterator[Pollers]:
    pollers = Pollers(broker, path, directory)
    for _ in range(POLLERS):
        pollers.start()
    try:
        yield pollers
    finally:
        while pollers.running:
            pollers.kill_one()


def test_every_job_is_done_and_no_two_hold_one_at_once(broker: Broker, scale: Scale, tmp_path: Path) -> None:
    channel = f"pull-{uuid.uuid4().hex[:8]}"
    broker.put(f"/channel/{channel}", token="open", retryPolicy={"retries": 50, "initialSeconds": 0.05, "factor": 1})
    broker.put(f"/channel/{channel}/consumer/k", token="mine", type="pull")
    publish(broker, channel, scale.pulled)

    with polling(broker, f"/channel/{channel}/consumer/k", tmp_path) as pollers:
        for blow in range(4 * scale.blows):
            time.sleep(BETWEEN_BLOWS_SECONDS)
            pollers.kill_one()
            pollers.start()
            if blow % 4 == 1:
                broker.parts.end("web")
                broker.parts.restart("web")
        wait_until(lambda: broker.rows(STATES, [channel]) == [(DELIVERED, scale.pulled)], PATIENCE_SECONDS)
        history = list(pollers.history())

    assert_one_holder_at_a_time(history)
    assert_one_ending_each(history)


def publish(broker: Broker, channel: str, number: int) -> None:
    headers = {
        "X-Broker-Channel-Token": "open",
        "X-Broker-Producer-ID": "shop",
        "X-Broker-Producer-Token": "sell",
    }
    for begin in range(0, number, 1_000):
        items = [{"payload": f"{place}"} for place in range(begin, min(begin + 1_000, number))]
        sent = broker.web.post(f"/channel/{channel}/broadcast/batch", json=items, headers=headers)
        assert sent.status_code == 201, sent.text


def assert_one_holder_at_a_time(history: list[list[str]]) -> None:
    """By the server's clock: a lease began when the one before had run out, or its holder had said how it ended."""
    said = {(job, attempt) for word, job, attempt, _ in history if word == "said"}
    # Who was told that it came too late had lost the job before.
    said -= {(job, attempt) for word, job, attempt, _ in history if word == "stale"}
    leases: defaultdict[str, dict[int, datetime]] = defaultdict(dict)
    for word, job, attempt, until in history:
        if word == "leased":
            assert int(attempt) not in leases[job], f"attempt {attempt} of job {job} was handed out twice"
            leases[job][int(attempt)] = datetime.fromisoformat(until)
    for job, held in leases.items():
        attempts = sorted(held)
        for earlier, later in pairwise(attempts):
            began = held[later] - timedelta(seconds=LEASE_SECONDS)
            assert began >= held[earlier] or (job, str(earlier)) in said, f"job {job} had two holders"


def assert_one_ending_each(history: list[list[str]]) -> None:
    applied = [(job, attempt) for word, job, attempt, _ in history if word == "applied"]
    assert len(applied) == len(set(applied))
    completed = [job for word, job, _, status in history if word == "applied" and status == "COMPLETE"]
    assert len(completed) == len(set(completed))
