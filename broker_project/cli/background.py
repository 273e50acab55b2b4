"""`up --background`: the manager in a session of its own, and a pipe on which it says how the start went."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from signal import SIGTERM

from broker_project.cli.output import MANAGER, logs_dir
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import TOP
from broker_project.lib.errors import BrokerError


class NotStarted(BrokerError):
    """The broker did not start."""


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
    text, ok = _judge(said, plan)
    if not ok:
        process.wait()
        raise NotStarted(text)
    return text


def _judge(said: str, plan: Plan) -> tuple[str, bool]:
    if not said:
        return f"The broker ended before it was ready. See {_log(plan)}.", False
    verdict = json.loads(said)
    return str(verdict["text"]), bool(verdict["ok"])


def _detached(plan: Plan, writing: int) -> "subprocess.Popen[bytes]":
    _log(plan).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    up = ["up", "--host", plan.host, "--port", str(plan.port), "--background", "--verdict-to", str(writing)]
    with _log(plan).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "broker_project.cli", *up],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=TOP,
            start_new_session=True,
            pass_fds=[writing],
        )


def _log(plan: Plan) -> Path:
    return logs_dir(plan.data_dir) / f"{MANAGER}.log"
