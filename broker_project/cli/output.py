"""What the processes say: each into a log of its own that rotates, and all of them, prefixed, on the terminal."""

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from zlib import crc32

from broker_project.embedded import tail

MANAGER = "manager"
MEGABYTES = 10
KEPT = 5
COLOURS = (32, 33, 34, 35, 36, 92, 93, 94, 95, 96)


class Output:
    """Children's lines and the manager's own. Without a terminal (in the background) only the logs are written."""

    def __init__(self, data_dir: Path, *, terminal: bool) -> None:
        self._logs = logs_dir(data_dir)
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Lines that a full disk does not take must not fill the terminal with complaints.
        logging.raiseExceptions = False
        self._loggers: dict[str, logging.Logger] = {}
        self._terminal = terminal

    def line(self, name: str, text: str) -> None:
        self._logger(name).info(text)
        self._show(prefixed(name, text))

    def event(self, text: str) -> None:
        """Something that the manager did or noticed."""
        self._logger(MANAGER).info(text)
        self._show(prefixed(MANAGER, text))

    def tail(self, name: str, lines: int) -> str:
        log = self._logs / f"{name}.log"
        return tail(log, lines) if log.exists() else ""

    def _logger(self, name: str) -> logging.Logger:
        if name not in self._loggers:
            self._loggers[name] = self._open(name)
        return self._loggers[name]

    def _open(self, name: str) -> logging.Logger:
        logger = logging.Logger(name, logging.INFO)
        handler = RotatingFileHandler(
            self._logs / f"{name}.log", maxBytes=MEGABYTES * 1024 * 1024, backupCount=KEPT, encoding="utf-8"
        )
        # A part's lines have a time of their own; the manager's do not.
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s" if name == MANAGER else "%(message)s"))
        logger.addHandler(handler)
        return logger

    def _show(self, line: str) -> None:
        try:
            if self._terminal:
                # With its end in one piece: other threads print too.
                print(f"{line}\n", end="", flush=True)
        except OSError:
            # The terminal is gone, or the pipe that took its place; the logs go on.
            self._terminal = False


def logs_dir(data_dir: Path) -> Path:
    return data_dir / "logs"


def prefixed(name: str, text: str) -> str:
    """The same colour for the same name every time; none where it would end up in a file."""
    prefix = f"{name:<16}|"
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return f"{prefix} {text}"
    return f"\033[{COLOURS[crc32(name.encode()) % len(COLOURS)]}m{prefix}\033[0m {text}"
