"""What a crash left running: both services work inside a folder of ours, so whoever lives there is a stray."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT, Signals

import psutil

# A fast shutdown, a rough one, the end. Each is safe for PostgreSQL: it recovers from its log.
STEPS: Sequence[tuple[Signals, float]] = ((SIGINT, 10.0), (SIGQUIT, 5.0), (SIGKILL, 5.0))


def end(program: str, directory: Path) -> None:
    """End the processes of that name that work in this directory. Call it only while holding the data's lock."""
    ask_to_end(_living_in(directory, program), STEPS)


def ask_to_end(processes: Sequence[psutil.Process], steps: Sequence[tuple[Signals, float]]) -> bool:
    """Signal after signal, each with its seconds, until all have ended. False if some have not."""
    for signal, seconds in steps:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal)
        if _all_ended(processes, seconds):
            return True
    return False


def _all_ended(processes: Sequence[psutil.Process], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(_is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_alive(process: psutil.Process) -> bool:
    """An orphan that has ended stays a zombie until init looks after it; that may take seconds."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _living_in(directory: Path, program: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["name"]) if _is(process, program, directory)]


def _is(process: psutil.Process, program: str, directory: Path) -> bool:
    try:
        return process.info["name"] == program and process.cwd() == str(directory)
    except psutil.Error:
        return False
