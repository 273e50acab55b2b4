"""`./broker demo` against a broker of its own, as a user runs both; and what the broker counts, asked in two ways."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import httpx
import psycopg
from playwright.sync_api import Page

from tests.acceptance.running import Installation, installation
from tests.acceptance.servers import ROOT, wait_until
from tests.acceptance.test_admin_browser import PASSWORD

RATE = "40"
# What there is to see is there within a minute; a busy machine is given more.
SECONDS = 300.0
REASONS = {"refused", "http_5xx", "http_4xx", "nacked", "gone"}


@dataclass(frozen=True)
class Demo:
    broker: Installation
    process: "subprocess.Popen[bytes]"
    log: Path
    api: httpx.Client

    @property
    def said(self) -> str:
        return self.log.read_text()

    def stop(self) -> int:
        """As a Ctrl-C does, and once only."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=90)

    def read(self, path: str) -> Any:
        answer = self.api.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def standing(self, channel: str, consumer: str) -> str:
        return str(self.read(f"/channel/{channel}/consumer/{consumer}")["state"]["status"])

    def has_everything(self) -> bool:
        assert self.process.poll() is None, self.said
        # Not in the way of what it asks about.
        time.sleep(1.0)
        reasons = {cause["reason"] for cause in self.read("/dead-letters/causes")["result"]}
        return (
            reasons >= REASONS
            and self.standing("demo-invoices", "old-bank").startswith("breaker")
            and self.standing("demo-signups", "newsletter") == "disabled"
            and self.query("SELECT EXISTS (SELECT FROM operation) AND EXISTS (SELECT FROM alert)") == [(True,)]
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        url = json.loads((self.broker.data_dir / "state.json").read_text())["urls"]["DATABASE_URL"]
        with psycopg.connect(url) as connection:
            return connection.execute(sql.encode()).fetchall()


@contextmanager
def playing() -> Iterator[Demo]:
    """With staff to log in, and until every page has something to show."""
    with installation() as broker:
        broker.up()
        who = ("--username", "operator", "--email", "operator@example.com")
        made = broker.call("manage", "createsuperuser", "--noinput", *who, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
        assert made.returncode == 0, made.stderr
        key = broker.do("key").splitlines()[-1]
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{broker.port}", headers=headers, timeout=20) as api:
            demo = _started(broker, api)
            try:
                wait_until(demo.has_everything, SECONDS)
                yield demo
            finally:
                demo.stop()


def _started(broker: Installation, api: httpx.Client) -> Demo:
    log = broker.data_dir.parent / "demo.log"
    command = [str(ROOT / "broker"), "demo", "--rate", RATE]
    environment = {**os.environ, **broker.environment}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    return Demo(broker, process, log, api)


@dataclass(frozen=True)
class Counts:
    """What is open, over all channels; and what has happened since the broker began."""

    queued: int
    in_flight: int
    letters: int
    scheduled: int
    accepted: int


def by_api(demo: Demo) -> Counts:
    jobs: Counter[str] = Counter()
    for consumers in demo.read("/job-status")["counts"].values():
        for states in consumers.values():
            jobs.update(states)
    letters = sum(sum(one.values()) for one in demo.read("/dlq-status")["counts"].values())
    places = demo.read("/channels?limit=100")["result"]
    messages = [demo.read(f"{place}/messages-status")["counts"] for place in places]
    scheduled, accepted = (sum(one[name]["count"] for one in messages) for name in ("SCHEDULED", "DISPATCHED"))
    return Counts(jobs["QUEUED"], jobs["INFLIGHT"], letters, scheduled, accepted)


def by_database(demo: Demo) -> Counts:
    [counted] = demo.query(
        """
        SELECT (SELECT count(*) FROM delivery_job WHERE status = 1001),
               (SELECT count(*) FROM delivery_job WHERE status = 1002),
               (SELECT count(*) FROM dead_letter WHERE resolved_at IS NULL),
               (SELECT count(*) FROM scheduled_message WHERE status = 100),
               (SELECT count(*) FROM message WHERE status = 101)
        """
    )
    return Counts(*counted)


def by_page(page: Page) -> Counts:
    """The numbers of the dashboard by their names."""
    return Counts(**{one.name: int(figure(page, one.name)) for one in fields(Counts)})


def figure(page: Page, name: str) -> float:
    return float(page.locator(f"[data-figure={name}]").first.get_attribute("data-value") or "nan")


def deliveries(demo: Demo) -> tuple[int, int]:
    """Tries that succeeded, and that failed."""
    [counted] = demo.query("SELECT count(*) FILTER (WHERE reason IS NULL), count(reason) FROM delivery_attempt")
    return counted[0], counted[1]
