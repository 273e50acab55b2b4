"""Real web servers on a database of their own, for what only a socket can show."""

import json
import os
import socket
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS, STOP_SECONDS = 60.0, 30.0
MIGRATED = "migrated"
# The advisory lock of who makes it.
TURN = 7002


@dataclass
class Broker:
    """A prepared database, and the web servers that a test starts on it."""

    database_url: str
    data_dir: Path
    environment: dict[str, str]
    api_key: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True)
        return done.stdout.strip().splitlines()[-1]

    def serve(self, **settings: str) -> httpx.Client:
        """Another web server process, and a client that talks to it with an API key."""
        port = free_port()
        self.start("-m", "broker_project.web", "--port", str(port), **settings)
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {self.api_key}"}, timeout=20
        )
        wait_until(lambda: _answers(client), START_SECONDS)
        return client

    def start(self, *words: str, **settings: str) -> subprocess.Popen[bytes]:
        """A part of the broker in a process of its own, stopped with the rest."""
        log = (self.data_dir / f"{len(self.processes)}.log").open("wb")
        environment = {**self.environment, **settings}
        process = subprocess.Popen([sys.executable, *words], cwd=ROOT, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def logs(self) -> str:
        return "".join(path.read_text() for path in self.data_dir.glob("*.log"))

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            _end(process)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with prepared(tmp_path_factory.mktemp("data")) as made:
        yield made


@contextmanager
def prepared(data_dir: Path) -> Iterator[Broker]:
    with scratch_database(_migrated()) as url:
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "BROKER_DATA_DIR": str(data_dir),
            "DJANGO_SETTINGS_MODULE": "broker_project.settings.development",
            "REGISTRY_FILE": str(data_dir / "none.toml"),
            # A Redis that is there is waited for, also on a busy machine.
            "LIMIT_PATIENCE_SECONDS": "10",
        }
        running = Broker(url, data_dir, environment)
        running.api_key = json.loads(running.manage("prepare"))["api_key"]
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def scratch_database(template: str = "template1") -> Iterator[str]:
    """A database beside the tests' own, empty or a copy, dropped afterwards."""
    name = f"scratch_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        try:
            yield _url_of(name)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@cache
def _migrated() -> str:
    """One with all tables, made once for all test processes: a copy takes less time than the migrations."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [TURN])
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", [MIGRATED]).fetchone() is None:
            connection.execute(f'DROP DATABASE IF EXISTS "{MIGRATED}_half"')
            connection.execute(f'CREATE DATABASE "{MIGRATED}_half"')
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            environment = {**os.environ, "DATABASE_URL": _url_of(f"{MIGRATED}_half")}
            subprocess.run(command, cwd=ROOT, env=environment, check=True)
            connection.execute(f'ALTER DATABASE "{MIGRATED}_half" RENAME TO "{MIGRATED}"')
    return MIGRATED


def _url_of(database: str) -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait for a condition, not for a time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.02)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """What does not stop when it is asked to is killed, and that is shown among the warnings."""
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        warnings.warn(f"{process.args!r} did not stop within {STOP_SECONDS:g} s", stacklevel=2)
        process.kill()
        process.wait()


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False
