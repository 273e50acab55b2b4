"""A whole broker for the benchmark: its own durable PostgreSQL and Redis, and the parts that `./broker up` starts."""

import asyncio
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any, LiteralString

import psutil
import psycopg
import redis

from benchmarks.errors import NotMeasured
from benchmarks.prepared import CHANNEL_TOKEN, PRODUCER, PRODUCER_TOKEN
from broker_project import embedded
from broker_project.cli import launch, prepare
from broker_project.cli.launch import Launch
from broker_project.cli.parts import PARTS
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import DEFAULT_SETTINGS

# The parts that do the work; Flower and Echo only look on. The web server always runs, scenarios start the others.
WEB, DISPATCH, DELIVERY, BEAT = "web", "worker-dispatch", "worker-delivery", "beat"
WORKERS = (DISPATCH, DELIVERY, BEAT)
PATIENCE_SECONDS = 600.0
# Knobs of the environment and of .env count, so that they can be tried; but for these.
OWN = {
    "DJANGO_SETTINGS_MODULE": DEFAULT_SETTINGS,
    "EGRESS_ALLOW": "127.0.0.0/8",
    "REGISTRY_FILE": "none.toml",
    "MANAGEMENT_RATE_PER_SECOND": "0",
    "REFUSALS_PER_MINUTE": "0",
    "MIN_SCHEDULE_DELAY_MINUTES": "0",
}
WIPE: LiteralString = (
    "TRUNCATE message, message_key, scheduled_message, delivery_job, delivery_attempt, counter, counter_delta,"
    " dead_letter, dead_letter_act, operation, lake_slice, lake_mark, lake_watermark, flow, watch_recorded"
    " RESTART IDENTITY"
)


@dataclass(frozen=True)
class Channel:
    """A channel in the registry, with the row ids that statements need."""

    name: str
    row_id: int
    consumers: list[int]


@dataclass
class Broker:
    plan: Plan
    api_key: str
    database: "psycopg.Connection[tuple[Any, ...]]"
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _made: int = 0

    @property
    def environment(self) -> dict[str, str]:
        return self.plan.environment() | OWN

    @contextmanager
    def running(self, *kinds: str) -> Iterator[None]:
        """These parts, up; stopped afterwards. A kind may be several parts: worker-delivery, worker-delivery-2."""
        try:
            self.start(*kinds)
            yield
        finally:
            self.stop(*kinds)

    def start(self, *kinds: str) -> None:
        for one in self.begin(*kinds):
            self._wait_until_up(one)

    def begin(self, *kinds: str) -> list[Launch]:
        """Start them and go on at once."""
        started = [launch.of_part(part, self.plan) for part in PARTS if _is_of(part.name, kinds)]
        for one in started:
            self.processes[one.part.name] = self._spawn(one)
        return started

    def stop(self, *kinds: str) -> None:
        """At once: nothing that they hold is needed any more."""
        for name in [name for name in self.processes if _is_of(name, kinds)]:
            process = self.processes.pop(name)
            os.killpg(process.pid, SIGKILL)
            process.wait()

    def rss_bytes(self, kind: str) -> int:
        found = [process.pid for name, process in self.processes.items() if _is_of(name, (kind,))]
        return sum(psutil.Process(pid).memory_info().rss for pid in found)

    def wipe(self) -> None:
        """Every scenario begins with empty tables, an empty Redis, and no worker running."""
        self.stop(*WORKERS)
        self.database.execute(WIPE)
        with redis.Redis.from_url(self.plan.urls["REDIS_URL"]) as client:
            client.flushall()

    def channel(self, **urls: str) -> Channel:
        """A new channel with a push consumer for each URL."""
        return self._channel({name: {"callbackUrl": url} for name, url in urls.items()})

    def pulled(self) -> Channel:
        """A new channel with one consumer that asks."""
        return self._channel({"k": {"type": "pull"}})

    def pushed(self, **fields: object) -> Channel:
        """A new channel with one push consumer that is described so."""
        return self._channel({"k": fields})

    def _channel(self, consumers: Mapping[str, Mapping[str, object]]) -> Channel:
        self._made += 1
        name = f"bench-{self._made}"
        self._put(f"/producer/{PRODUCER}", {"token": PRODUCER_TOKEN})
        self._put(f"/channel/{name}", {"token": CHANNEL_TOKEN})
        for consumer, fields in consumers.items():
            self._put(f"/channel/{name}/consumer/{consumer}", {**fields, "token": "mine"})
        row_id = self.value("SELECT id FROM channel WHERE public_id = %(name)s", name=name)
        rows = self.database.execute("SELECT id FROM consumer WHERE channel_id = %s ORDER BY id", (row_id,))
        return Channel(name, row_id, [row[0] for row in rows])

    def get(self, path: str) -> int:
        """The status of a GET with the API key."""
        return self._call("GET", path, None)[0]

    def post(self, path: str, **fields: object) -> dict[str, Any]:
        """What a POST with the API key is answered."""
        return self._ask("POST", path, fields)

    def _ask(self, method: str, path: str, fields: Mapping[str, object]) -> dict[str, Any]:
        status, said = self._call(method, path, json.dumps(fields))
        if status not in (200, 201, 202):
            raise NotMeasured(f"{method} {path} was answered {status}: {said.decode(errors='replace')}")
        answer: dict[str, Any] = json.loads(said)
        return answer

    def value(self, statement: LiteralString, **parameters: object) -> Any:
        """The first column of the first row; None if there is none."""
        found = self.database.execute(statement, parameters).fetchone()
        return found[0] if found else None

    def wait_until(self, condition: Callable[[], object], what: str, every: float = 0.05) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise NotMeasured(f"Waited too long for {what}. The end of the logs:\n{self._last_words()}")
            time.sleep(every)

    def _wait_until_up(self, one: Launch) -> None:
        born = time.monotonic()
        self.wait_until(lambda: one.ready(time.monotonic() - born), f"{one.part.name} to start")

    def _spawn(self, one: Launch) -> "subprocess.Popen[bytes]":
        """In a session of its own: a Ctrl-C reaches only the benchmark, which stops the parts."""
        with self._log(one.part.name).open("ab") as log:
            return subprocess.Popen(
                one.argv,
                stdout=log,
                stderr=log,
                cwd=one.cwd,
                env=one.environment | OWN,
                start_new_session=True,
            )

    def _put(self, path: str, fields: Mapping[str, object]) -> None:
        """Unless it is there."""
        if self.get(path) != 200:
            self._ask("PUT", path, fields)

    def _call(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.plan.host, self.plan.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _log(self, name: str) -> Path:
        return self.plan.data_dir / "logs" / f"{name}.log"

    def _last_words(self) -> str:
        return "\n".join(f"[{name}]\n{embedded.tail(self._log(name), 10)}" for name in self.processes)


@contextmanager
def brokers() -> Iterator[Broker]:
    """The services with a prepared database, and a web server."""
    with tempfile.TemporaryDirectory(prefix="broker-bench-") as name:
        directory = Path(name).resolve()
        # Run by root, PostgreSQL is another account's process, which must get in.
        directory.chmod(0o755)
        with embedded.services(directory, ["postgres", "redis"], durable=True) as urls:
            plan = Plan(directory, port=_free_port(), urls=urls)
            prepared = asyncio.run(prepare.prepare(plan.environment() | OWN))
            with psycopg.connect(urls["DATABASE_URL"], autocommit=True) as database:
                broker = Broker(plan, prepared.api_key or "", database)
                try:
                    broker.start(WEB)
                    yield broker
                finally:
                    broker.stop(WEB, *WORKERS)


def _is_of(name: str, kinds: tuple[str, ...]) -> bool:
    return name.startswith(kinds)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
