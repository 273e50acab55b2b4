"""A whole broker as a user runs it: ./broker, on a data directory and ports of its own."""

import json
import os
import random
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.acceptance.servers import ROOT, wait_until

WORKERS = {"worker-dispatch", "worker-delivery", "worker-delivery-2", "worker-reports"}
PARTS = {"postgres", "redis", "beat", "web", "flower", "grpc", "echo", *WORKERS}
SECONDS = 90.0


@dataclass(frozen=True)
class Installation:
    data_dir: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """Not the environment of the tests: an empty URL means the embedded services, whatever .env says."""
        own = {"BROKER_DATA_DIR": str(self.data_dir), "DATABASE_URL": "", "REDIS_URL": ""}
        settings = {"DJANGO_SETTINGS_MODULE": "broker_project.settings.development", "REGISTRY_FILE": "none.toml"}
        return {**os.environ, **settings, **own}

    def call(self, *words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ./broker, whatever comes of it."""
        command = [str(ROOT / "broker"), *words]
        environment = self.environment | environment
        return subprocess.run(
            command, cwd=cwd, env=environment, check=False, capture_output=True, text=True, timeout=SECONDS
        )

    def do(self, *words: str, cwd: Path = ROOT) -> str:
        """Run a command that must succeed; returns what it printed."""
        done = self.call(*words, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self) -> str:
        return self.do("up", "--background", "--port", str(self.port))

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.call("status", "--json").stdout))

    def written(self) -> dict[str, dict[str, Any]]:
        """The parts by name, read from the file: quicker than asking again and again."""
        state = json.loads((self.data_dir / "state.json").read_text())
        return {part["name"]: part for part in state["parts"]}

    def processes(self) -> list[psutil.Process]:
        """Whatever carries this data directory in its environment, or is written down as a part of it."""
        marked = [process for process in psutil.process_iter() if self._is_marked(process)]
        pids = [part["pid"] for part in self.written().values() if part["pid"]]
        return marked + [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("BROKER_DATA_DIR") == str(self.data_dir)
        except psutil.Error:
            return False

    def open_ports(self) -> list[int]:
        return [port for port in range(self.port, self.port + 4) if is_open(port)]


@contextmanager
def installation() -> Iterator[Installation]:
    """Stopped at the end, whatever a test left."""
    with tempfile.TemporaryDirectory(prefix="broker-up-") as name:
        directory = Path(name).resolve()
        # Run by root, PostgreSQL is another account's process, which must get in.
        directory.chmod(0o755)
        broker = Installation(directory / "data", free_ports())
        try:
            yield broker
        finally:
            broker.call("down")


def free_ports() -> int:
    """The first of four free ports in a row, out of the range that the system hands out to others meanwhile."""
    while True:
        port = random.randrange(10_000, 30_000)
        if not any(is_open(each) for each in range(port, port + 4)):
            return port


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_alive(pid: int) -> bool:
    """A process that has ended may stay a zombie until init looks after it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_running(broker: Installation, restarted: dict[str, dict[str, Any]]) -> None:
    """Each of these parts, as they were, has another process now, and is up."""

    def all_run() -> bool:
        parts = broker.written()
        return all(
            parts[name]["state"] == "running" and parts[name]["pid"] != old["pid"] for name, old in restarted.items()
        )

    wait_until(all_run, SECONDS)
