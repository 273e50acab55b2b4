"""A real cluster on loopback, a master and two workers of the pyspark that pip installed, fills a lake."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from channels_app.models import DeliveryJob
from reports_app.models import LakeKind, LakeSlice
from spark_analytics.java import java_home
from spark_analytics.settings import Settings
from tests.spark_analytics.history import make_history

pytestmark = pytest.mark.django_db(transaction=True)
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
LOOPBACK = "127.0.0.1"


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master that two workers have joined."""
    port, page = free_port(), free_port()
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        where = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        stack.enter_context(daemon(tmp_path, "master", f"{deploy}.master.Master", *where))
        address = f"spark://{LOOPBACK}:{port}"
        for name in ("one", "two"):
            size = [
                "--host",
                LOOPBACK,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(tmp_path),
            ]
            stack.enter_context(daemon(tmp_path, name, f"{deploy}.worker.Worker", *size, address))
        wait_for_workers(page, 2)
        yield address


@contextmanager
def daemon(folder: Path, name: str, *words: str) -> Iterator[None]:
    told = {"JAVA_HOME": str(java_home(folder)), "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "256m"}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([str(SPARK_CLASS), *words], env=os.environ | told, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


def wait_for_workers(page: int, count: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            said = urllib.request.urlopen(f"http://{LOOPBACK}:{page}/json/", timeout=5).read().decode()
        except OSError:
            said = ""
        if len(re.findall(r'"state"\s*:\s*"ALIVE"', said)) >= count:
            return
        time.sleep(0.2)
    pytest.fail("the workers did not come")


def lake_command(lake: Settings, master: str, *words: str) -> str:
    told = {
        "DATABASE_URL": lake.database_url,
        "LAKE_URL": lake.lake_url,
        "SPARK_MASTER": master,
        "SPARK_LOCAL_IP": LOOPBACK,
    }
    command = [sys.executable, "-m", "spark_analytics.lake", *words]
    done = subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_cluster_exports_and_verifies(master: str, settings_of_lake: Settings) -> None:
    make_history()
    lake_command(settings_of_lake, master, "export", "--all")
    assert LakeSlice.objects.get(kind=LakeKind.JOB).row_count == DeliveryJob.objects.count()
    assert lake_command(settings_of_lake, master, "verify") == "5 equal, 0 changed since, 0 different, 0 unreadable\n"
