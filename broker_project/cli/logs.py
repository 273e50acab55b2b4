"""logs: the end of one, or of all of them, and what is added."""

import argparse
import os
import time
from pathlib import Path

from broker_project.cli import arguments
from broker_project.cli.output import logs_dir, prefixed
from broker_project.cli.surroundings import data_dir
from broker_project.lib.errors import BrokerError


class NoSuchLog(BrokerError):
    """There is no log of this name."""


class Tail:
    """Reads a log as it grows, also when it is rotated under the reader."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open(errors="replace")
        self._rest = ""

    def more(self) -> list[str]:
        """The whole lines since the last time."""
        text = self._rest + self._file.read()
        if self._was_rotated():
            self._file.close()
            self._file = self.path.open(errors="replace")
            text += self._file.read()
        *lines, self._rest = text.split("\n")
        return lines

    def _was_rotated(self) -> bool:
        return self.path.exists() and self.path.stat().st_ino != os.fstat(self._file.fileno()).st_ino


def add_to(commands: arguments.Commands) -> None:
    logs = commands.add_parser("logs", help="show the logs", description="Show the end of one log, or of all of them.")
    logs.add_argument("name", nargs="?", help="of a part, as ./broker status shows it, or manager")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as lines are added; Ctrl-C ends it")
    logs.add_argument("-n", "--lines", type=int, default=100, help="how many lines of each (%(default)s)")
    logs.set_defaults(run=_logs)


def _logs(options: argparse.Namespace) -> int:
    tails = [Tail(path) for path in _paths(options.name)]
    for tail in tails:
        lines = tail.more()
        _show(tail, lines[max(0, len(lines) - options.lines) :], prefix=not options.name)
    while options.follow:
        time.sleep(0.2)
        for tail in tails:
            _show(tail, tail.more(), prefix=not options.name)
    return 0


def _paths(name: str | None) -> list[Path]:
    logs = {path.stem: path for path in sorted(logs_dir(data_dir()).glob("*.log"))}
    if name is None:
        return list(logs.values())
    if name not in logs:
        raise NoSuchLog(f"There is no log of {name}. There are: {', '.join(logs) or 'none yet'}.")
    return [logs[name]]


def _show(tail: Tail, lines: list[str], *, prefix: bool) -> None:
    for line in lines:
        print(prefixed(tail.path.stem, line) if prefix else line, flush=True)
