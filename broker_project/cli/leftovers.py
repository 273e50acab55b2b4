"""What a manager that crashed left running is stopped before anything is started again."""

import os
from pathlib import Path
from signal import SIGKILL

import psutil

from broker_project.cli import sessions, state
from broker_project.cli.parts import BY_NAME, TERM, Manners, Part
from broker_project.embedded.strays import ask_to_end

# A part of another version of the broker.
UNKNOWN = Part("unknown", 0, TERM)
Found = tuple[str, psutil.Process]


def stop(data_dir: Path) -> list[str]:
    """Stop them in their order; returns their names. Call it only while holding the data's lock."""
    found = sorted(_written_down(data_dir) | _marked(data_dir), key=lambda each: _part(each).stops)
    for each in found:
        stop_process(each[1], _part(each).manners)
    return [name for name, _ in found]


def stop_process(process: psutil.Process, manners: Manners) -> None:
    ask_to_end([process], (*manners, (SIGKILL, 5.0)))
    # It led a session of its own; its helpers go with it.
    sessions.kill(process.pid)


def _part(each: Found) -> Part:
    return BY_NAME.get(each[0], UNKNOWN)


def _written_down(data_dir: Path) -> set[Found]:
    written = state.read(data_dir)
    found = [(part.name, part.process()) for part in written.parts] if written else []
    return {(name, process) for name, process in found if process}


def _marked(data_dir: Path) -> set[Found]:
    """Those started in the moment before the crash, known by the mark in their environment."""
    found = [(_mark(process, data_dir), process) for process in psutil.process_iter()]
    return {(name, process) for name, process in found if name}


def _mark(process: psutil.Process, data_dir: Path) -> str:
    try:
        leads = os.getsid(process.pid) == process.pid
        environment = process.environ() if leads else {}
    except (psutil.Error, OSError):
        return ""
    return environment.get("BROKER_PART", "") if environment.get("BROKER_DATA_DIR") == str(data_dir) else ""
