"""The health checks of both Compose files, run as they stand there, against what they ask."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import grpc
import pytest
from django.db import connection
from django.db.models.functions import Now
from flower.urls import handlers
from psycopg.conninfo import make_conninfo

from broker_project.cli.readiness import http2_answers
from channels_app.api import readiness
from channels_app.models import Progress
from scheduling_app.grpc import health
from tests.deploy.compose import OURS, PRODUCTION, words
from tests.deploy.knobs import TOP

PROBE = ["CMD", "python", "deploy/probe.py"]
ALL = {**{f"production {name}": service for name, service in PRODUCTION.items() if "build" in service}, **OURS}
CHECKS = {
    name: service["healthcheck"]["test"] for name, service in ALL.items() if service.get("healthcheck", {}).get("test")
}
PROGRESS = {name: check[4] for name, check in CHECKS.items() if check[3] == "progress"}
PORTS = {name: check[4] for name, check in CHECKS.items() if check[3] in ("http", "grpc")}


def _healthy(*arguments: str, **environment: str) -> bool:
    """As in the image, whose working directory has deploy/."""
    command = [sys.executable, "deploy/probe.py", *arguments]
    given = os.environ | environment
    return subprocess.run(command, check=False, cwd=TOP, env=given, stderr=subprocess.DEVNULL).returncode == 0


def test_the_checks_are_probes() -> None:
    assert [name for name, check in CHECKS.items() if check[:3] != PROBE] == []


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
    assert _healthy("progress", "dispatch", DATABASE_URL=database)


def test_a_worker_whose_progress_is_old_is_not(database: str) -> None:
    Progress.objects.create(name="dispatch", at=Now() - timedelta(seconds=31))
    assert not _healthy("progress", "dispatch", DATABASE_URL=database)


def test_without_a_database_nobody_is_said_to_hang(database: str) -> None:
    assert not _healthy("moving", "dispatch", DATABASE_URL=database)
    assert _healthy("moving", "dispatch", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert not _healthy("progress", "dispatch", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")


def test_the_progress_of_another_part_does_not_count(database: str) -> None:
    Progress.objects.mark("beat")
    assert not _healthy("progress", "dispatch", DATABASE_URL=database)


def test_the_parts_are_asked_for_the_progress_that_readiness_asks_for() -> None:
    """But for the reports worker: a broker without one is ready to work."""
    assert set(PROGRESS.values()) - {"reports"} == {check.name for check in readiness.CHECKS}
    assert all(name.split()[-1].removeprefix("worker-") == row for name, row in PROGRESS.items())


def test_the_database_of_a_secret_file_is_asked(database: str, tmp_path: Path) -> None:
    Progress.objects.mark("dispatch")
    (tmp_path / "url").write_text(f"{database}\n")
    assert _healthy("progress", "dispatch", DATABASE_URL="", DATABASE_URL_FILE=str(tmp_path / "url"))


def test_a_server_that_answers_200_is_healthy(port: str) -> None:
    assert _healthy("http", port, "/well")


def test_a_server_that_answers_anything_else_is_not(port: str) -> None:
    assert not _healthy("http", port, "/ill")


def test_a_server_that_does_not_answer_is_not_healthy() -> None:
    assert not _healthy("http", "1", "/well")


@pytest.fixture
def grpc_port() -> Iterator[str]:
    """A server as the broker's own, without its acts."""
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(health.SERVICE, {"Check": _serving}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield str(port)
    server.stop(None).wait()


_serving = grpc.unary_unary_rpc_method_handler(lambda _request, _context: health.SERVING)


def test_a_grpc_server_that_serves_is_healthy(grpc_port: str) -> None:
    assert _healthy("grpc", grpc_port)


def test_a_grpc_server_that_is_not_there_is_not_healthy(port: str) -> None:
    assert not _healthy("grpc", "1")
    assert not _healthy("grpc", port), "this one speaks another language"


def test_the_manager_knows_who_speaks_http2(grpc_port: str, port: str) -> None:
    asked = http2_answers("127.0.0.1:{port}")
    assert asked({"port": grpc_port}, 0.0)
    assert not asked({"port": port}, 0.0)
    assert not asked({"port": "1"}, 0.0)


@pytest.mark.parametrize("name", PORTS)
def test_the_port_asked_is_the_one_listened_on(name: str) -> None:
    assert PORTS[name] in {word.rpartition("=")[2] for word in words(ALL[name])}


def test_flower_answers_the_path_it_is_asked() -> None:
    asked = {CHECKS[name][5] for name in ("flower", "production flower")}
    assert asked <= {handler[0] for handler in handlers if isinstance(handler, tuple)}


def test_every_process_has_a_health_check() -> None:
    """Web's is the image's own; preparing ends by itself."""
    assert CHECKS.keys() == ALL.keys() - {"web", "prepare", "production prepare"}
