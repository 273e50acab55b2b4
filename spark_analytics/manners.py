"""Spark stands back: traffic of a broker on the same machine goes first."""

import os
from contextlib import suppress
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")


def stand_back(niceness: int) -> None:
    """With all that this thread starts from now on.

    Linux shares a machine out by session first, and only then by process. So a session that is ours, as a worker and
    what ./broker starts have one, stands back as a whole; one that belongs to somebody's terminal stays as it is. Who
    is nicer than that already stays so.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
    if os.getsid(0) == os.getpid():
        # Not every kernel has it.
        with suppress(OSError):
            AUTOGROUP.write_text(str(max(niceness, of_session())))


def of_session() -> int:
    return said_by(AUTOGROUP.read_text())


def said_by(line: str) -> int:
    """It says "/autogroup-12 nice 0", and nothing at all of a session that is as old as the machine."""
    return int(line.rsplit(maxsplit=1)[-1]) if line.strip() else 0
