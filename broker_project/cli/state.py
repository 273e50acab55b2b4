"""What runs, written down for other commands and for the next start after a crash: state.json in the data directory."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from broker_project.cli.plan import Plan

ALIVE = ("starting", "running", "restarting")


@dataclass
class PartState:
    name: str
    # starting, running, restarting, stopped or failed
    state: str = "starting"
    pid: int | None = None
    # When the process was made: a pid alone may be somebody else by now.
    created: float = 0.0
    restarts: int = 0
    # When it came into this state, in seconds since 1970.
    since: float = 0.0
    address: str = ""

    def process(self) -> psutil.Process | None:
        """The process, if it still is the one that was written down."""
        try:
            process = psutil.Process(self.pid) if self.pid else None
            return process if process and abs(process.create_time() - self.created) < 1 else None
        except psutil.NoSuchProcess:
            return None


@dataclass
class State:
    data_dir: str
    # The manager's.
    pid: int
    host: str
    port: int
    background: bool
    urls: dict[str, str]
    # Everything was up once.
    ready: bool
    parts: list[PartState]

    @property
    def plan(self) -> Plan:
        return Plan(Path(self.data_dir), self.host, self.port, self.background, self.urls)

    @property
    def was_running(self) -> bool:
        return any(part.state in ALIVE for part in self.parts)


def of(plan: Plan, parts: list[PartState], *, ready: bool) -> State:
    """The state of the broker that this process manages."""
    return State(str(plan.data_dir), os.getpid(), plan.host, plan.port, plan.background, plan.urls, ready, parts)


def write(state: State) -> None:
    """Whole or not at all: a reader never sees half of it."""
    path = _path(Path(state.data_dir))
    part = path.with_suffix(".part")
    with open(part, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(asdict(state), file, indent=1)
    part.replace(path)


def write_stopped(data_dir: Path) -> None:
    """After a crash, when nothing is left of what was written down."""
    written = read(data_dir)
    if written:
        write(replace(written, parts=[replace(part, state="stopped", pid=None) for part in written.parts]))


def read(data_dir: Path) -> State | None:
    """None if nothing was written here, or if the directory is a copy of one whose processes are not ours."""
    try:
        found = json.loads(_path(data_dir).read_text())
    except (FileNotFoundError, ValueError):
        return None
    if found["data_dir"] != str(data_dir):
        return None
    return State(**found | {"parts": [PartState(**part) for part in found["parts"]]})


def _path(data_dir: Path) -> Path:
    return data_dir / "state.json"
