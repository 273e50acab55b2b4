"""What is left of a program that led a session of its own."""

import os
from contextlib import suppress
from signal import SIGKILL, SIGTERM

import psutil

from broker_project.embedded.strays import ask_to_end

# Until the kernel comes to them, they hold their ports and files.
KILL = ((SIGKILL, 5.0),)


def tell(session: int, number: int) -> None:
    """All but those who made a group for themselves."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)


def see_out(session: int, seconds: float) -> None:
    """Give them time to clear up; then kill who is left, also who came meanwhile."""
    ask_to_end(_members(session), ((SIGTERM, seconds),))
    kill(session)


def kill(session: int) -> None:
    ask_to_end(_members(session), KILL)


def _members(session: int) -> list[psutil.Process]:
    """A group is too little: Spark's own Python makes one for itself."""
    return [process for process in psutil.process_iter() if _session_of(process) == session]


def _session_of(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except OSError:
        return None
