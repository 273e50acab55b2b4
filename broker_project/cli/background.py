"""`up --background`: the manager in a session of its own, and a pipe on which it says how the start went."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from signal import SIGTERM

from broker_project.cli.output import MANAGER, logs_dir
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import TOP
from broker_project.lib.errors import BrokerError


class DiedSilently(BrokerError):
    """The broker ended before it said anything."""


class Pipe:
    """The manager's end. What is said first is the verdict. A welcome holds secrets, so it goes over no file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def succeed(self, text: str) -> None:
        self._say({"ok": True, "text": text})

    def fail(self, text: str) -> None:
        self._say({"ok": False, "text": text})

    def _say(self, verdict: dict[str, object]) -> None:
        if self._descriptor is None:
            return
        # Whoever asked may be gone by now.
        with suppress(BrokenPipeError), os.fdopen(self._descriptor, "w") as pipe:
            self._descriptor = None
            json.dump(verdict, pipe)


def start(plan: Plan) -> str:
    """Start it and wait for its verdict; returns the welcome."""
    print("Starting the broker in the background …", file=sys.stderr, flush=True)
    reading, writing = os.pipe()
    process = _detached(plan, writing)
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            said = pipe.read()
    except KeyboardInterrupt:
        process.send_signal(SIGTERM)
        raise
    return _judge(said, plan)


def _detached(plan: Plan, writing: int) -> "subprocess.Popen[bytes]":
    logs = logs_dir(plan.data_dir)
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    up = ["up", "--host", plan.host, "--port", str(plan.port), "--background", "--verdict-to", str(writing)]
    with (logs / f"{MANAGER}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "broker_project.cli", *up],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=TOP,
            start_new_session=True,
            pass_fds=[writing],
        )


def _judge(said: str, plan: Plan) -> str:
    if not said:
        raise DiedSilently(f"The broker ended before it was ready. See {logs_dir(plan.data_dir) / MANAGER}.log.")
    verdict = json.loads(said)
    if not verdict["ok"]:
        raise BrokerError(verdict["text"])
    return str(verdict["text"])
