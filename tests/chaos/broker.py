"""A broker to be hit: on a PostgreSQL and a Redis of its own, with two workers that deliver."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from broker_project import embedded
from broker_project.cli import launch
from broker_project.cli.launch import Launch
from broker_project.cli.parts import BY_NAME, Part
from broker_project.cli.plan import Plan
from tests.acceptance.running import free_ports
from tests.acceptance.servers import ROOT, wait_until
from tests.chaos.supervisor import SECONDS, Supervisor

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "broker_project.settings.development",
    "REGISTRY_FILE": "none.toml",
    "MANAGEMENT_RATE_PER_SECOND": "0",
    "MIN_SCHEDULE_DELAY_MINUTES": "0",
}
DELIVERERS = ("worker-delivery", "worker-delivery-2")
PARTS = tuple(BY_NAME[name] for name in ("web", "worker-dispatch", *DELIVERERS, "beat"))
SECOND_BEAT, SECOND_WEB = "beat-2", "web-2"
_IN_FLIGHT = "SELECT id FROM delivery_job WHERE status = 1002"
_RUN_OUT = "UPDATE delivery_job SET lease_until = now() WHERE id = %s AND status = 1002 RETURNING id"


class Broker:
    def __init__(self, data_dir: Path, services: dict[str, embedded.Service]) -> None:
        self.urls = {embedded.VARIABLES[name]: service.url for name, service in services.items()}
        plan = Plan(data_dir, port=free_ports(), urls=self.urls)
        launches = {name: launch.of_service(name, service, plan) for name, service in services.items()}
        launches |= {part.name: _told(part, plan) for part in PARTS}
        # Started by the test that wants one too many.
        launches[SECOND_BEAT] = launches["beat"]
        beside = replace(plan, port=free_ports())
        launches[SECOND_WEB] = _told(BY_NAME["web"], beside)
        self.web_ports = [plan.port, beside.port]
        self.parts = Supervisor(launches, data_dir, self._note_death)
        self.address = plan.host, plan.port
        self.web = httpx.Client(base_url=plan.web, timeout=30)
        self._environment = launches["web"].environment
        # By blow: the jobs that were in flight. These, and only these, may come twice.
        self.cut_off: list[frozenset[int]] = []

    def begin(self) -> None:
        self.parts.restart("postgres", "redis")
        self.web.headers["Authorization"] = f"Bearer {self._prepare()}"
        self.parts.restart(*(part.name for part in PARTS))
        self.parts.watch()

    def note_in_flight(self) -> None:
        """Asked right after a blow: what it cut off stays INFLIGHT until its lease runs out, seconds later."""
        wait_until(self._try_to_note, SECONDS)

    def deliverer_at(self, port: int) -> str:
        """The worker whose end of a connection this is."""
        [name] = [name for name in DELIVERERS if port in self._ports_of(name)]
        return name

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.urls["DATABASE_URL"], autocommit=True) as connection:
            return connection.execute(statement, parameters).fetchall()

    def run_out_lease(self, job_id: int) -> None:
        """Moves the clock of one job, whose worker is dead, to where its lease ends."""
        assert self.rows(_RUN_OUT, [job_id]) == [(job_id,)]

    def put(self, path: str, **fields: Any) -> None:
        answer = self.web.put(path, json=fields)
        assert answer.status_code == 201, answer.text

    def _note_death(self, name: str) -> None:
        if name in DELIVERERS:
            self.note_in_flight()

    def _try_to_note(self) -> bool:
        try:
            self.cut_off.append(frozenset(row[0] for row in self.rows(_IN_FLIGHT)))
        except psycopg.OperationalError:
            return False
        return True

    def _ports_of(self, name: str) -> set[int]:
        return {each.laddr.port for each in psutil.Process(self.parts.pid(name)).net_connections("tcp")}

    def _prepare(self) -> str:
        """Makes the tables; returns the API key of the first run."""
        words = [sys.executable, "manage.py", "prepare"]
        done = subprocess.run(words, cwd=ROOT, env=self._environment, check=True, stdout=subprocess.PIPE, text=True)
        return str(json.loads(done.stdout.splitlines()[-1])["api_key"])


def _told(part: Part, plan: Plan) -> Launch:
    """The tests' own settings are not those that a broker runs with."""
    made = launch.of_part(part, plan)
    return replace(made, environment=made.environment | SETTINGS)


@contextmanager
def running() -> Iterator[Broker]:
    with tempfile.TemporaryDirectory(prefix="broker-chaos-") as name:
        directory = Path(name).resolve()
        # Run by root, the database is another account's, which must get in.
        directory.chmod(0o755)
        # Durable: what a PostgreSQL in a hurry has committed would not survive its immediate restart.
        with embedded.placed(directory, ["postgres", "redis"], durable=True) as services:
            broker = Broker(directory, services)
            try:
                broker.begin()
                yield broker
            finally:
                broker.web.close()
                broker.parts.finish()
                _keep_logs(directory)


def _keep_logs(directory: Path) -> None:
    """For whoever wants to know why: CHAOS_LOGS names a folder that the parts' logs are copied to."""
    if target := os.environ.get("CHAOS_LOGS"):
        for log in directory.glob("*.log"):
            shutil.copy(log, target)
