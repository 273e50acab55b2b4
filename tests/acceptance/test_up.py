"""./broker up and its relatives, on real processes."""

import itertools
import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running import (
    PARTS,
    SECONDS,
    Installation,
    installation,
    is_alive,
    is_open,
    wait_until_running,
)
from tests.acceptance.servers import ROOT, wait_until

SHELL = ("manage", "shell", "-v0", "-c")
COUNT_USERS = (*SHELL, "from django.contrib.auth.models import User; print(User.objects.count())")
DELETE_USERS = (
    *SHELL,
    "from django.contrib.auth.models import User; User.objects.all().delete(); print(User.objects.count())",
)


@pytest.fixture(scope="module")
def installed() -> Iterator[Installation]:
    with installation() as broker:
        yield broker


@pytest.fixture
def empty() -> Iterator[Installation]:
    with installation() as broker:
        yield broker


@pytest.fixture
def running(installed: Installation) -> Installation:
    if installed.status()["state"] != "running":
        installed.up()
    return installed


@pytest.fixture
def stopped(installed: Installation) -> Installation:
    """Not running, but not empty either."""
    if not (installed.data_dir / "postgres").exists():
        installed.up()
    installed.do("down")
    return installed


def test_the_first_up_shows_its_credentials_once_and_keeps_them_nowhere(installed: Installation) -> None:
    welcome = installed.up()
    password, key = re.findall(r"^  (?:API key|Password) +(\S+)$", welcome, re.MULTILINE)
    address = f"http://127.0.0.1:{installed.port}"
    assert f"{address}/docs" in welcome
    assert f"{address}/admin/" in welcome
    answer = httpx.get(f"{address}/channels", headers={"Authorization": f"Bearer {key}"})
    files = [path for path in installed.data_dir.rglob("*") if path.is_file() and "postgres/" not in str(path)]
    assert answer.status_code == 200
    assert not [path for path in files if key.encode() in path.read_bytes() or password.encode() in path.read_bytes()]


def test_status_tells_the_state_and_the_address_of_each_part(running: Installation) -> None:
    status = running.status()
    addresses = {part["name"]: part["address"] for part in status["parts"]}
    assert status["state"] == "running"
    assert set(addresses) == PARTS
    assert {part["state"] for part in status["parts"]} == {"running"}
    for name, path in (("web", "/healthz"), ("flower", "/healthcheck"), ("echo", "/")):
        assert httpx.get(addresses[name] + path).status_code == 200
    assert running.call("status").returncode == 0


def test_the_readmes_first_curl_is_seen_delivered(running: Installation) -> None:
    [curl] = re.findall(
        r"^curl -i .*?^$", (ROOT / "README.md").read_text().replace("```", ""), re.MULTILINE | re.DOTALL
    )
    words = shlex.split(curl.replace("127.0.0.1:8000", f"127.0.0.1:{running.port}"))
    headers = dict(word.split(": ", 1) for flag, word in itertools.pairwise(words) if flag == "-H")
    body = words[words.index("-d") + 1]

    sent = httpx.post(next(word for word in words if word.startswith("http")), headers=headers, content=body)

    assert sent.status_code == 201, sent.text
    echo = f"http://127.0.0.1:{running.port + 2}/"
    wait_until(lambda: body in [delivery["body"] for delivery in httpx.get(echo).json()], SECONDS)


def test_a_second_up_says_that_it_is_running(running: Installation) -> None:
    before = running.written()
    second = running.call("up")
    assert second.returncode == 0
    assert f"already running at http://127.0.0.1:{running.port} (pid {running.status()['pid']})" in second.stdout
    assert running.call("up", "--background").stdout == second.stdout
    assert running.written() == before


def test_a_part_that_is_killed_is_started_again(running: Installation) -> None:
    before = running.written()
    for part in before.values():
        os.kill(part["pid"], signal.SIGKILL)
    wait_until_running(running, before)
    after = running.written()
    assert {name: after[name]["restarts"] - before[name]["restarts"] for name in before} == dict.fromkeys(before, 1)
    assert "web (pid" in running.do("logs", "manager")


def test_one_part_is_restarted_on_request(running: Installation) -> None:
    before = running.written()
    assert "echo is running again" in running.do("restart", "echo")
    after = running.written()
    assert [name for name in before if before[name]["pid"] != after[name]["pid"]] == ["echo"]
    assert running.call("restart", "nobody").returncode == 1


def test_a_key_is_printed_alone_on_the_last_line(running: Installation) -> None:
    key = running.do("key", "--name", "acceptance").splitlines()[-1]
    answer = httpx.get(f"http://127.0.0.1:{running.port}/channels", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200


def test_two_brokers_run_side_by_side_and_ctrl_c_stops_only_its_own(running: Installation, empty: Installation) -> None:
    command = [str(ROOT / "broker"), "up", "--port", str(empty.port)]
    log = empty.data_dir.parent / "terminal"
    with log.open("wb") as terminal:
        process = subprocess.Popen(command, env=empty.environment, stdout=terminal, stderr=terminal)
    wait_until(lambda: b"Ctrl-C stops it." in log.read_bytes() or process.poll() is not None, SECONDS)
    assert [len(broker.open_ports()) for broker in (running, empty)] == [4, 4]
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 0
    assert empty.open_ports() == []
    assert [each for each in empty.processes() if is_alive(each.pid)] == []
    assert running.status()["state"] == "running"


def test_up_recovers_from_a_manager_that_was_killed(running: Installation) -> None:
    before = running.status()
    os.kill(before["pid"], signal.SIGKILL)
    wait_until(lambda: not is_alive(before["pid"]), SECONDS)
    crashed = running.call("status")
    assert (crashed.returncode, "crashed, run ./broker up" in crashed.stdout) == (3, True)
    running.up()
    assert running.status()["state"] == "running"
    assert [part["name"] for part in before["parts"] if is_alive(part["pid"])] == []


def test_a_running_broker_is_backed_up_and_not_restored(running: Installation, tmp_path: Path) -> None:
    running.do("backup", "some file", cwd=tmp_path)
    assert (tmp_path / "some file").stat().st_mode & 0o777 == 0o600
    refused = running.call("restore", "some file", cwd=tmp_path)
    assert (refused.returncode, "./broker down" in refused.stderr) == (1, True)


def test_down_leaves_no_process_no_port_and_no_socket(running: Installation) -> None:
    pids = [part["pid"] for part in running.written().values()]
    sockets = Path(running.written()["redis"]["address"]).parent
    assert sockets.exists()
    running.do("down")
    assert [pid for pid in pids if is_alive(pid)] == []
    assert [each for each in running.processes() if is_alive(each.pid)] == []
    assert running.open_ports() == []
    assert not sockets.exists()
    assert running.call("status").returncode == 3
    assert "not running" in running.do("down")


def test_a_restored_database_is_the_one_that_was_backed_up(stopped: Installation, tmp_path: Path) -> None:
    stopped.do("backup", "it", cwd=tmp_path)
    assert stopped.do(*DELETE_USERS) == "0\n"
    (tmp_path / "cut").write_bytes((tmp_path / "it").read_bytes()[:5000])
    bad = stopped.call("restore", "cut", cwd=tmp_path)
    assert (bad.returncode, "nothing was changed" in bad.stderr) == (1, True)
    assert stopped.do(*COUNT_USERS) == "0\n"
    stopped.do("restore", "it", cwd=tmp_path)
    assert stopped.do(*COUNT_USERS) == "1\n"
    assert [each for each in stopped.processes() if is_alive(each.pid)] == []


def test_data_of_another_major_version_is_refused_with_the_way_out(empty: Installation) -> None:
    data = empty.data_dir / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("17\n")
    refused = empty.call("up", "--background", "--port", str(empty.port))
    assert (refused.returncode, "PostgreSQL 17" in refused.stderr, "./broker restore" in refused.stderr) == (
        1,
        True,
        True,
    )
    assert [each for each in empty.processes() if is_alive(each.pid)] == []


def test_a_port_that_is_taken_is_named_before_anything_is_started(empty: Installation) -> None:
    with socket.create_server(("127.0.0.1", empty.port + 1)):
        refused = empty.call("up", "--background", "--port", str(empty.port))
    assert (refused.returncode, f"Port {empty.port + 1} " in refused.stderr) == (1, True)
    assert f"(pid {os.getpid()})" in refused.stderr
    assert not (empty.data_dir / "postgres").exists()


def test_a_database_that_cannot_be_prepared_stops_the_start(empty: Installation) -> None:
    up = ("up", "--background", "--port", str(empty.port))
    refused = empty.call(*up, DJANGO_SETTINGS_MODULE="no.such.settings")
    assert (refused.returncode, "No module named 'no'" in refused.stderr) == (1, True)
    assert [each for each in empty.processes() if is_alive(each.pid)] == []
    assert not is_open(empty.port)
