"""Flower: for those who know the password, to look and not to touch."""

import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.servers import ROOT, Broker, free_port, wait_until


@pytest.fixture(scope="module")
def flower(broker: Broker) -> Iterator[httpx.Client]:
    port = free_port()
    command = [sys.executable, "-m", "broker_project.flower", "--address=127.0.0.1", f"--port={port}"]
    process = subprocess.Popen(command, cwd=ROOT, env={**broker.environment, "FLOWER_PASSWORD": "look-only"})
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", auth=("admin", "look-only"), timeout=20)
    try:
        wait_until(lambda: _answers(client), 60)
        yield client
    finally:
        process.terminate()
        process.wait(timeout=30)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthcheck").status_code == 200
    except httpx.TransportError:
        return False


def test_flower_asks_for_its_password(flower: httpx.Client) -> None:
    assert flower.get("/").status_code == 200
    assert httpx.get(f"{flower.base_url}/").status_code == 401
    assert httpx.get(f"{flower.base_url}/", auth=("admin", "wrong")).status_code == 401


def test_flower_can_be_looked_at(flower: httpx.Client) -> None:
    assert flower.get("/api/tasks").status_code == 200
    assert flower.get("/api/queues/length").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/task/send-task/channels_app.report_dispatch_progress",
        "/api/task/async-apply/channels_app.report_dispatch_progress",
        "/api/task/apply/channels_app.report_dispatch_progress",
        "/api/task/revoke/1",
        "/api/worker/shutdown/dispatch",
        "/api/worker/pool/grow/dispatch",
    ],
)
def test_flower_sends_no_task_and_tunes_no_worker(flower: httpx.Client, path: str) -> None:
    assert flower.post(path, json={"args": []}).status_code == 404
