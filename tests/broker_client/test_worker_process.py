"""A worker as it is run: a process of its own that is ended by a signal."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.servers import ROOT, wait_until
from tests.broker_client.small_broker import SmallBroker

SCRIPT = """
import sys, time
from broker_client import Worker

app = Worker(sys.argv[1], channel_tokens={"orders": "open"}, grace_seconds=float(sys.argv[2]))

@app.consumer("orders", consumer="billing", token="mine", prefetch=1)
def bill(job):
    while job.text() == "long":
        time.sleep(0.01)

app.run()
"""


@contextmanager
def worker(small: SmallBroker, grace_seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, small.url, str(grace_seconds)], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_and_what_it_held_is_given_back(small: SmallBroker, number: signal.Signals) -> None:
    """Also where the function never comes back."""
    short, long, waiting = small.put_jobs("short", "long", "waiting")

    with worker(small, 0.2) as process:
        wait_until(lambda: long.history == ["RUNNING"] and waiting.status == "INFLIGHT", 30)
        process.send_signal(number)
        assert process.wait(timeout=30) == 0

    assert [job.status for job in (short, long, waiting)] == ["DELIVERED", "QUEUED", "QUEUED"]
    assert not [job for job in small.jobs.values() if job.failures]


def test_a_second_signal_does_not_wait_for_the_grace(small: SmallBroker) -> None:
    [long] = small.put_jobs("long")

    with worker(small, 600) as process:
        wait_until(lambda: long.history == ["RUNNING"], 30)
        # Signals that come together are one; sooner or later there is a second.
        wait_until(lambda: _has_ended_by(process, signal.SIGTERM), 30)

    assert process.returncode == -signal.SIGTERM


def _has_ended_by(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    process.send_signal(number)
    return process.poll() is not None
