import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.servers import ROOT, free_port, wait_until


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("echo") / "log"


@pytest.fixture(scope="module")
def echo(log: Path) -> Iterator[httpx.Client]:
    port = free_port()
    with log.open("wb") as output:
        command = [sys.executable, "-m", "broker_project.echo", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        wait_until(lambda: b"Uvicorn running" in log.read_bytes(), 30)
        yield client
    process.terminate()
    process.wait(10)


HEADERS = {
    "X-Broker-Message-ID": "m-1",
    "X-Broker-Channel-ID": "orders",
    "X-Broker-Consumer-Token": "s3cret-token",
    "webhook-signature": "v1,s3cret-signature",
    "Content-Type": "text/plain",
}


def test_a_delivery_is_logged_and_shown_newest_first_without_its_secrets(echo: httpx.Client, log: Path) -> None:
    assert echo.post("/hook?key=s3cret-query", content="first", headers=HEADERS).status_code == 200
    assert echo.post("/hook", content="sécond\x1b[31m\n", headers=HEADERS).status_code == 200
    shown = echo.get("/").json()
    assert [delivery["body"] for delivery in shown[:2]] == ["sécond\\x1b[31m\\n", "first"]
    assert (shown[0]["message_id"], shown[0]["channel"], shown[0]["content_type"]) == ("m-1", "orders", "text/plain")
    assert "POST /hook m-1 of orders, text/plain: first\n" in log.read_text()
    assert "s3cret" not in log.read_text() + echo.get("/").text


def test_the_last_hundred_are_kept(echo: httpx.Client) -> None:
    for number in range(105):
        echo.post("/", content=str(number))
    shown = echo.get("/").json()
    assert (len(shown), shown[0]["body"], shown[-1]["body"]) == (100, "104", "5")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("status=503", 503),
        ("status=418&delay=0.01", 418),
        ("status=99", 200),
        ("status=x&delay=nan", 200),
        ("delay=-1", 200),
    ],
)
def test_it_misbehaves_on_request_and_within_bounds(echo: httpx.Client, query: str, status: int) -> None:
    assert echo.post(f"/?{query}", content="x").status_code == status


def test_a_delay_is_kept(echo: httpx.Client) -> None:
    assert echo.post("/?delay=0.3", content="x").elapsed.total_seconds() >= 0.3


def test_a_body_over_the_cap_is_refused(echo: httpx.Client) -> None:
    assert echo.post("/", content=b"x" * (1024 * 1024 + 1)).status_code == 413
    assert echo.post("/", content=b"x" * 1024 * 1024).status_code == 200


def test_other_methods_are_not_for_it(echo: httpx.Client) -> None:
    assert (echo.put("/").status_code, echo.get("/elsewhere").status_code) == (405, 405)
