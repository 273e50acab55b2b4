"""status: each part, and the whole in a word."""

import argparse
import json
from dataclasses import asdict

from broker_project.cli import arguments, lock, state
from broker_project.cli.lock import Holder
from broker_project.cli.state import State
from broker_project.cli.surroundings import data_dir

RUNNING, NOT_RUNNING = 0, 3


def add_to(commands: arguments.Commands) -> None:
    description = "Show each part. The exit code is 0 if the broker is running, 3 if it is not."
    status = commands.add_parser("status", help="show what runs", description=description)
    status.add_argument("--json", action="store_true", help="for programs")
    status.set_defaults(run=_status)


def _status(options: argparse.Namespace) -> int:
    holder, written = lock.holder(data_dir()), state.read(data_dir())
    whole = _whole(holder, written)
    if options.json:
        print(json.dumps(_as_json(whole, holder, written), indent=1))
    else:
        print("\n".join([_sentence(whole, holder, written), *_table(written)]))
    return RUNNING if holder and holder.command == "up" else NOT_RUNNING


def _whole(holder: Holder | None, written: State | None) -> str:
    """starting, running, degraded (a part is not running), stopped, crashed, or busy (another command has the data)."""
    if holder is None:
        return "crashed" if written and written.was_running else "stopped"
    if holder.command != "up":
        return "busy"
    if written is None or written.pid != holder.pid or not written.ready:
        return "starting"
    return "running" if all(part.state == "running" for part in written.parts) else "degraded"


def _as_json(whole: str, holder: Holder | None, written: State | None) -> dict[str, object]:
    return {
        "state": whole,
        "pid": holder.pid if holder else None,
        "address": written.plan.web if written else None,
        "parts": [asdict(part) for part in written.parts] if written else [],
    }


def _sentence(whole: str, holder: Holder | None, written: State | None) -> str:
    if whole == "crashed":
        return "The broker crashed, run ./broker up: it stops what is left and starts again."
    if holder is None:
        return "The broker is stopped."
    if whole == "busy":
        return f"The broker is not running; ./broker {holder.command} (pid {holder.pid}) is using its data."
    return f"The broker is {whole} at {written.plan.web if written else '…'} (pid {holder.pid})."


def _table(written: State | None) -> list[str]:
    rows = [
        (part.name, part.state, f"pid {part.pid or '-'}", f"restarts {part.restarts}", part.address)
        for part in (written.parts if written else [])
    ]
    return ["  {:<19}{:<12}{:<13}{:<13}{}".format(*row).rstrip() for row in rows]
