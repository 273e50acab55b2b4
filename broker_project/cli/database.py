"""A database by its URL, and the wheel's own programs run on it."""

import os
import subprocess
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from broker_project.embedded import places
from broker_project.embedded.account import caller
from broker_project.lib.errors import BrokerError


class DatabaseRefused(BrokerError):
    """The database refused."""


@dataclass(frozen=True)
class Database:
    url: str

    @property
    def name(self) -> str:
        return unquote(urlsplit(self.url).path.lstrip("/"))

    def named(self, name: str) -> "Database":
        """Another database of the same server."""
        return Database(urlsplit(self.url)._replace(path=f"/{name}").geturl())

    def run(self, program: str, *words: str, output: IO[bytes] | int = subprocess.DEVNULL, typed: str = "") -> None:
        """Run pg_dump, pg_restore or psql on it."""
        command = [str(places.postgres_programs(caller()) / program), f"--dbname={self.address}", *words]
        pipes: dict[str, Any] = {"input": typed.encode(), "stdout": output, "stderr": subprocess.PIPE}
        done = subprocess.run(command, check=False, env=self.environment, **pipes)
        if done.returncode:
            raise DatabaseRefused(f"{program} failed:\n{done.stderr.decode(errors='replace').strip()}")

    def sql(self, statements: str, **names: str) -> None:
        """Stops at the first error. A name is written :"so" in the statements, and psql quotes it."""
        variables = [f"--set={name}={value}" for name, value in names.items()]
        self.run("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *variables, typed=statements)

    @property
    def address(self) -> str:
        """Without the password: everybody may read a command line."""
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user.partition(':')[0]}@{host}" if user else host).geturl()

    @property
    def environment(self) -> dict[str, str]:
        password = urlsplit(self.url).password
        return {**os.environ, **({"PGPASSWORD": unquote(password)} if password else {})}
