"""What is left of a program that led a session of its own."""

import os
import time
from contextlib import suppress
from signal import SIGKILL

import psutil

# For the kernel to end those it was told to kill.
PATIENCE_SECONDS = 5.0


def tell(session: int, number: int) -> None:
    """All but those who made a group for themselves."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)


def wait_for_end(session: int, seconds: float) -> bool:
    """True once nobody of it lives."""
    deadline = time.monotonic() + seconds
    while _living(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def clear(session: int) -> None:
    """Kill who is left, and wait: until the kernel comes to them, they hold their ports and files."""
    for process in _living(session):
        with suppress(psutil.Error):
            process.send_signal(SIGKILL)
    wait_for_end(session, PATIENCE_SECONDS)


def _living(session: int) -> list[psutil.Process]:
    """A group is too little: Spark's own Python makes one for itself."""
    return [process for process in psutil.process_iter() if _lives_in(session, process)]


def _lives_in(session: int, process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, PermissionError, psutil.Error):
        return False
