"""The health checks of docker-compose.yml, run as they stand there, against what they ask."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.db import connection
from django.db.models.functions import Now
from flower.urls import handlers
from psycopg.conninfo import make_conninfo

from channels_app.api import readiness
from channels_app.models import Progress
from tests.deploy.compose import COMPOSE, OURS, words

CHECKS = {
    name: service["healthcheck"]["test"][3:]
    for name, service in OURS.items()
    if service.get("healthcheck", {}).get("test")
}
PROGRESS = {name: words[1] for name, words in CHECKS.items() if words[0] == COMPOSE["x-made-progress"]}
ANSWERS = {name: words[1:] for name, words in CHECKS.items() if words[0] == COMPOSE["x-answers"]}


def _healthy(script: str, *arguments: str, **environment: str) -> bool:
    command = [sys.executable, "-c", COMPOSE[script], *arguments]
    done = subprocess.run(command, check=False, env=os.environ | environment, stderr=subprocess.DEVNULL)
    return done.returncode == 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/well" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        yield str(server.server_port)
        server.shutdown()


@pytest.fixture
def database(transactional_db: None) -> str:
    """Transactional: the check comes over a connection of its own."""
    parts = connection.settings_dict
    return make_conninfo(
        host=parts["HOST"], port=parts["PORT"], dbname=parts["NAME"], user=parts["USER"], password=parts["PASSWORD"]
    )


def test_a_worker_that_made_progress_is_healthy(database: str) -> None:
    Progress.objects.mark("dispatch")
    assert _healthy("x-made-progress", "dispatch", DATABASE_URL=database)


def test_a_worker_whose_progress_is_old_is_not(database: str) -> None:
    Progress.objects.create(name="dispatch", at=Now() - timedelta(seconds=31))
    assert not _healthy("x-made-progress", "dispatch", DATABASE_URL=database)


def test_the_progress_of_another_part_does_not_count(database: str) -> None:
    Progress.objects.mark("beat")
    assert not _healthy("x-made-progress", "dispatch", DATABASE_URL=database)


def test_the_parts_are_asked_for_the_progress_that_readiness_asks_for() -> None:
    """But for the reports worker: a broker without one is ready to work."""
    assert set(PROGRESS.values()) - {"reports"} == {check.name for check in readiness.CHECKS}
    assert all(name.removeprefix("worker-") == row for name, row in PROGRESS.items())


def test_a_server_that_answers_200_is_healthy(port: str) -> None:
    assert _healthy("x-answers", port, "/well")


def test_a_server_that_answers_anything_else_is_not(port: str) -> None:
    assert not _healthy("x-answers", port, "/ill")


def test_a_server_that_does_not_answer_is_not_healthy() -> None:
    assert not _healthy("x-answers", "1", "/well")


@pytest.mark.parametrize("name", ANSWERS)
def test_the_port_asked_is_the_one_listened_on(name: str) -> None:
    assert ANSWERS[name][0] in {word.rpartition("=")[2] for word in words(OURS[name])}


def test_flower_answers_the_path_it_is_asked() -> None:
    assert any(handler[0] == ANSWERS["flower"][1] for handler in handlers if isinstance(handler, tuple))


def test_every_process_has_a_health_check() -> None:
    """Web's is the image's own; preparing ends by itself."""
    assert CHECKS.keys() == OURS.keys() - {"web", "prepare"}
