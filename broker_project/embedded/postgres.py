"""PostgreSQL 18 out of a wheel, for one machine: sockets only, no TCP, run in the foreground."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from broker_project.embedded import strays
from broker_project.embedded.account import ENVIRONMENT, Account
from broker_project.lib.errors import BrokerError

MAJOR = "18"
# Only a part of the socket's name; said everywhere, as PGPORT would say it otherwise.
PORT = "5432"

SETTINGS = {
    "listen_addresses": "",
    "port": PORT,
    "unix_socket_permissions": "0700",
    # Web, workers and reports of one machine, with room to spare.
    "max_connections": "200",
    "shared_buffers": "256MB",
    # Rare checkpoints: a burst of messages is not slowed down by full page images.
    "max_wal_size": "2GB",
    "min_wal_size": "256MB",
    "checkpoint_timeout": "15min",
    # Short queries over warm pages: compiling them costs more than it saves.
    "jit": "off",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
}
# For tests: quick, and lost with the machine.
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class OtherMajorVersion(BrokerError):
    """The data is of another PostgreSQL major version."""


class ClusterNotMade(BrokerError):
    """PostgreSQL could not set up its data."""


@dataclass(frozen=True)
class Postgres:
    programs: Path
    data: Path
    sockets: Path
    account: Account
    durable: bool = True

    @property
    def url(self) -> str:
        return f"postgresql://broker@{quote(str(self.sockets), safe='')}:{PORT}/broker"

    def prepare(self) -> None:
        """Before every start: no server of a crash is left, and there is a whole cluster of our version."""
        strays.end("postgres", self.data)
        # Its pid may be another process by now, which PostgreSQL would take for a running server.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        if not self.data.exists():
            self._make_cluster()
        self._refuse_other_major()

    def command(self) -> list[str]:
        settings = SETTINGS | {"unix_socket_directories": str(self.sockets)} | ({} if self.durable else NOT_DURABLE)
        flags = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self.programs / "postgres"), "-D", str(self.data), *flags]

    def answers(self) -> bool:
        command = [str(self.programs / "pg_isready"), "--quiet", "--timeout=2", f"--dbname={self.url}"]
        return subprocess.call(command, env=ENVIRONMENT) == 0

    def _make_cluster(self) -> None:
        """In a folder beside it, renamed when whole: an interrupted set-up leaves no half cluster."""
        new = self.data.with_name(f"{self.data.name}.new")
        if new.exists():
            shutil.rmtree(new)
        new.mkdir(mode=0o700)
        self.account.give(new)
        self._run("initdb", "-D", str(new), "-U", "broker", "--auth-local=trust", "--auth-host=scram-sha-256",
                  "--encoding=UTF8", "--locale-provider=builtin", "--locale=C", "--builtin-locale=C.UTF-8",
                  "--data-checksums", "--no-instructions", *([] if self.durable else ["--no-sync"]))  # fmt: skip
        self._run(
            "postgres", "--single", "--exit_on_error=on", "-D", str(new), "postgres", typed="CREATE DATABASE broker"
        )
        new.rename(self.data)

    def _run(self, program: str, *arguments: str, typed: str = "") -> None:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(
            command,
            check=False,
            input=typed,
            capture_output=True,
            text=True,
            cwd="/",
            env=ENVIRONMENT,
            **self.account.run_as,
        )
        if done.returncode:
            raise ClusterNotMade(f"PostgreSQL could not set up its data in {self.data}:\n{done.stderr.strip()}")

    def _refuse_other_major(self) -> None:
        major = (self.data / "PG_VERSION").read_text().strip()
        if major != MAJOR:
            raise OtherMajorVersion(
                f"The data in {self.data} is of PostgreSQL {major}; this version of the broker runs {MAJOR}.\n"
                "Run ./broker backup FILE with the version of the broker that made it, move the folder away,\n"
                "then ./broker up, ./broker down and ./broker restore FILE with this one."
            )
