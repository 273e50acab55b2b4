"""Spark stands back behind what shares its container or session: the system weighs no others by their niceness."""

import os
from contextlib import suppress
from pathlib import Path


def stand_back(process: int, niceness: int) -> None:
    """All threads that it has; those to come, and the processes that they start, take after them."""
    told: set[int] = set()
    while new := _threads_of(process) - told:
        for thread in new:
            with suppress(ProcessLookupError):
                _be_nice(thread, niceness)
        told |= new


def _threads_of(process: int) -> set[int]:
    """Where the system lists none, a process is told as a whole."""
    try:
        return {int(path.name) for path in Path(f"/proc/{process}/task").iterdir()}
    except OSError:
        return {process}


def _be_nice(thread: int, niceness: int) -> None:
    """Never less than it is: that is not ours to allow."""
    if os.getpriority(os.PRIO_PROCESS, thread) < niceness:
        os.setpriority(os.PRIO_PROCESS, thread, niceness)
