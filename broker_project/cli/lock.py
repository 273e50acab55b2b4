"""One command at a time works on a data directory. The kernel frees the lock, even after kill -9 or a power cut."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from broker_project.lib.errors import BrokerError

PATIENCE_SECONDS = 1.0


@dataclass(frozen=True)
class Holder:
    command: str
    pid: int


class DataBusy(BrokerError):
    """Another command is using this data directory."""

    def __init__(self, holder: Holder, data_dir: Path) -> None:
        super().__init__(f"./broker {holder.command} (pid {holder.pid}) is using {data_dir}. Wait for it, or stop it.")
        self.holder = holder


@contextmanager
def held(data_dir: Path, command: str) -> Iterator[None]:
    data_dir.mkdir(parents=True, exist_ok=True)
    with _open(data_dir) as file:
        if not _taken(file):
            raise DataBusy(_read(data_dir), data_dir)
        file.truncate(0)
        file.write(json.dumps(asdict(Holder(command, os.getpid()))))
        file.flush()
        yield


def holder(data_dir: Path) -> Holder | None:
    """Who holds the lock now; None if it is free."""
    if not (data_dir / "lock").exists():
        return None
    with _open(data_dir) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(data_dir)
    return None


def _open(data_dir: Path) -> IO[str]:
    return open(data_dir / "lock", "a", opener=lambda path, flags: os.open(path, flags, 0o600))


def _taken(file: IO[str]) -> bool:
    """Tried for a moment: somebody may just be asking who the holder is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _read(data_dir: Path) -> Holder:
    """Tried for a moment: whoever took it just now has not signed yet."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return Holder(**json.loads((data_dir / "lock").read_text()))
        except ValueError:
            if time.monotonic() > deadline:
                return Holder("command", 0)
            time.sleep(0.02)
