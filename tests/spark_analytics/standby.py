"""A real streaming replica of the tests' own PostgreSQL."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from broker_project.embedded.account import ENVIRONMENT, service_account
from broker_project.embedded.places import postgres_programs
from broker_project.embedded.postgres import PORT, Postgres
from tests.spark_analytics.exporting import wait_until


@contextmanager
def standby_of(url: str) -> Iterator[str]:
    """Its address. In a folder with a short name, as a socket's must be."""
    if not str(conninfo_to_dict(url).get("host", "")).startswith("/"):
        pytest.skip("the tests' PostgreSQL is not the one that comes with the broker")
    account = service_account()
    home = Path(tempfile.mkdtemp(prefix="broker-standby-"))
    account.give(home)
    server = Postgres(postgres_programs(account), home / "data", home, account, durable=False)
    try:
        _copy(server, url)
        with _running(server):
            yield make_conninfo(url, host=str(home), port=PORT)
    finally:
        shutil.rmtree(home)


def pause(standby: str) -> None:
    with psycopg.connect(standby, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        wait_until(lambda: connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",))


def resume(standby: str) -> None:
    with psycopg.connect(standby, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_resume()")


def _copy(server: Postgres, url: str) -> None:
    words = ["-d", url, "-D", str(server.data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    command = [str(server.programs / "pg_basebackup"), *words]
    subprocess.run(command, check=True, cwd="/", env=ENVIRONMENT, **server.account.run_as)


@contextmanager
def _running(server: Postgres) -> Iterator[None]:
    process = subprocess.Popen(server.command(), cwd="/", env=ENVIRONMENT, **server.account.run_as)
    try:
        wait_until(server.answers)
        yield
    finally:
        # Fast: it does not wait for who is connected.
        process.send_signal(signal.SIGINT)
        process.wait()
