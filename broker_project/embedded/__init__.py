"""PostgreSQL and Redis from PyPI wheels, for one machine and for tests. Nothing listens on a TCP port."""

import shutil
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGINT
from typing import Protocol

from broker_project.embedded import places, strays
from broker_project.embedded.account import ENVIRONMENT, Account, service_account
from broker_project.embedded.postgres import Postgres
from broker_project.embedded.redis import Redis
from broker_project.lib.errors import BrokerError

# The environment variable that names each service; where the user set it, theirs is used and ours not started.
VARIABLES = {"postgres": "DATABASE_URL", "redis": "REDIS_URL"}
START_SECONDS = 60.0
STOP_SECONDS = 30.0


class ServiceNotStarted(BrokerError):
    """An embedded service did not start."""


class Service(Protocol):
    @property
    def account(self) -> Account: ...
    @property
    def sockets(self) -> Path: ...
    @property
    def url(self) -> str: ...
    def prepare(self) -> None: ...
    def command(self) -> list[str]: ...
    def answers(self) -> bool: ...


@contextmanager
def placed(data_dir: Path, names: Collection[str], *, durable: bool = True) -> Iterator[dict[str, Service]]:
    """The named services, ready to be started, with a socket folder that lives as long as they do."""
    account = service_account()
    clear(data_dir)
    sockets = places.new_sockets(data_dir, account)
    try:
        yield {name: _place(name, data_dir, sockets, account, durable) for name in names}
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


@contextmanager
def services(data_dir: Path, names: Collection[str], *, durable: bool = True) -> Iterator[dict[str, str]]:
    """The named services, running; yields the environment variables that point at them."""
    with placed(data_dir, names, durable=durable) as found, ExitStack() as running:
        for name, service in found.items():
            service.prepare()
            running.enter_context(_running(name, service, data_dir / "logs" / f"{name}.log"))
        yield {VARIABLES[name]: service.url for name, service in found.items()}


def clear(data_dir: Path) -> None:
    """Remove the sockets that a crash left, and the services that still run."""
    for home in places.postgres_homes(data_dir):
        strays.end("postgres", home)
    for sockets in places.old_sockets(data_dir, service_account()):
        strays.end("redis-server", sockets / "redis")
        shutil.rmtree(sockets, ignore_errors=True)


def _place(name: str, data_dir: Path, sockets: Path, account: Account, durable: bool) -> Service:
    if name == "redis":
        return Redis(places.redis_program(account), sockets / "redis", account)
    data = places.postgres_data(data_dir, account)
    return Postgres(places.postgres_programs(account), data, sockets / "pg", account, durable)


@contextmanager
def _running(name: str, service: Service, log: Path) -> Iterator[None]:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            service.command(),
            stdout=output,
            stderr=output,
            cwd="/",
            env=ENVIRONMENT,
            start_new_session=True,
            **service.account.run_as,
        )
    try:
        _wait(name, service, process, log)
        yield
    finally:
        _stop(process)


def _wait(name: str, service: Service, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not service.answers():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServiceNotStarted(f"{name} did not start. The end of {log}:\n{tail(log, 10)}")
        time.sleep(0.05)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """SIGINT is PostgreSQL's fast shutdown, and as good as any for Redis."""
    process.send_signal(SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tail(log: Path, lines: int) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
