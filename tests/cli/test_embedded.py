"""The embedded services by themselves: crashes, half-made clusters, data that moved."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from broker_project import embedded
from broker_project.embedded import places
from broker_project.embedded.account import Account, caller, service_account
from tests.acceptance.running import is_alive
from tests.acceptance.servers import ROOT, wait_until

BOTH = ["postgres", "redis"]
START = """
import sys, time, pathlib
from broker_project import embedded
with embedded.services(pathlib.Path(sys.argv[1]), ["postgres", "redis"], durable=False):
    print("started", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Where another account gets in, as pytest's own folders do not let it."""
    with tempfile.TemporaryDirectory(prefix="broker-embedded-") as name:
        directory = Path(name).resolve()
        directory.chmod(0o755)
        yield directory


def test_both_answer_on_sockets_and_keep_their_data(data_dir: Path) -> None:
    for expected in ([], [("kept",)]):
        with embedded.services(data_dir, BOTH, durable=False) as urls:
            with psycopg.connect(urls["DATABASE_URL"], autocommit=True) as connection:
                assert (
                    connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
                    == expected
                )
                connection.execute("CREATE TABLE IF NOT EXISTS kept (id int)")
                assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
            with redis.Redis.from_url(urls["REDIS_URL"]) as client:
                assert client.config_get("*")["port"] == "0"
                assert client.config_get("*")["save"] == ""
        assert places.old_sockets(data_dir, service_account()) == []


def test_what_a_crash_left_is_cleared_away(data_dir: Path) -> None:
    crashing = subprocess.Popen([sys.executable, "-c", START, str(data_dir)], cwd=ROOT, stdout=subprocess.PIPE)
    assert crashing.stdout
    assert crashing.stdout.readline() == b"started\n"
    left = int((data_dir / "postgres/postmaster.pid").read_text().split()[0])
    crashing.send_signal(signal.SIGKILL)
    crashing.wait()
    assert is_alive(left)
    with embedded.services(data_dir, BOTH, durable=False) as urls, psycopg.connect(urls["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert len(places.old_sockets(data_dir, service_account())) == 1
    assert not is_alive(left)


def test_a_command_that_is_asked_to_end_takes_its_services_along(data_dir: Path) -> None:
    environment = {**os.environ, "BROKER_DATA_DIR": str(data_dir), "DATABASE_URL": "", "REDIS_URL": ""}
    command = [sys.executable, "-m", "broker_project.cli", "manage", "shell", "-c", "import time; time.sleep(60)"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    pidfile = data_dir / "postgres/postmaster.pid"
    wait_until(lambda: pidfile.exists() and len(pidfile.read_text().splitlines()) > 7, 30)
    postmaster = int(pidfile.read_text().split()[0])
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert not is_alive(postmaster)


def test_a_stale_pid_of_a_living_process_does_not_stop_the_start(data_dir: Path) -> None:
    with embedded.services(data_dir, ["postgres"], durable=False):
        pass
    (data_dir / "postgres/postmaster.pid").write_text(f"{os.getpid()}\n{data_dir / 'postgres'}\n1\n5432\n/tmp\n\n")
    with embedded.services(data_dir, ["postgres"], durable=False) as urls:
        psycopg.connect(urls["DATABASE_URL"]).close()


def test_a_cluster_that_was_half_made_is_made_again(data_dir: Path) -> None:
    (data_dir / "postgres.new/base").mkdir(parents=True)
    with embedded.services(data_dir, ["postgres"], durable=False) as urls:
        psycopg.connect(urls["DATABASE_URL"]).close()
    assert not (data_dir / "postgres.new").exists()


class Outsider(Account):
    """An account that gets in nowhere."""

    def can(self, what: str, path: Path) -> bool:
        return False


@pytest.fixture
def outsider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Account:
    monkeypatch.setattr(places, "ELSEWHERE", tmp_path / "elsewhere")
    return Outsider(caller().uid, caller().gid, is_other=False)


def test_programs_that_the_account_cannot_reach_are_copied_once_and_work(outsider: Account) -> None:
    postgres, redis_server = places.postgres_programs(outsider) / "initdb", places.redis_program(outsider)
    made = postgres.stat().st_ctime_ns
    assert b"PostgreSQL) 18" in subprocess.check_output([postgres, "--version"])
    assert b"Redis" in subprocess.check_output([redis_server, "--version"])
    assert (places.postgres_programs(outsider) / "initdb").stat().st_ctime_ns == made
    assert postgres.is_relative_to(places.ELSEWHERE)


def test_data_that_the_account_cannot_reach_is_kept_elsewhere_and_a_note_says_where(
    outsider: Account, tmp_path: Path
) -> None:
    elsewhere = places.postgres_data(tmp_path, outsider)
    assert elsewhere.is_relative_to(places.ELSEWHERE)
    assert str(elsewhere) in (tmp_path / "postgres-is-elsewhere.txt").read_text()
    assert places.postgres_data(tmp_path, caller()) == elsewhere


def test_a_directory_that_was_moved_away_from_its_data_is_refused(outsider: Account, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    elsewhere = places.postgres_data(old, outsider)
    old.rename(new)
    with pytest.raises(places.DataMoved, match=str(elsewhere)):
        places.postgres_data(new, outsider)
