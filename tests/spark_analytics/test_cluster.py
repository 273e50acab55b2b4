"""A real cluster on loopback, a master and two workers of the pyspark that pip installed, exports and reports."""

import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pyspark
import pytest
from django.utils import timezone

from channels_app.models import DeliveryJob
from reports_app.models import LakeKind, LakeSlice
from spark_analytics.java import java_home
from spark_analytics.pack import pack
from spark_analytics.settings import Settings
from tests.spark_analytics.odd_rows import make_history

# Ids from 1, as slices have them: each reader finds some.
pytestmark = pytest.mark.django_db(transaction=True, reset_sequences=True)
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
SPARK_SUBMIT = SPARK_CLASS.with_name("spark-submit")
LOOPBACK = "127.0.0.1"
# A process that does one thing after another, as a `reports` worker does.
WORKER = """
import sys
from spark_analytics.submit import main
sys.exit(max(main(words.split()) for words in sys.argv[1:]))
"""


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
            size = ["--host", LOOPBACK, "--cores", "2", "--memory", "1g"]
            paths = ["--webui-port", "0", "--work-dir", str(tmp_path)]
            stack.enter_context(daemon(tmp_path, name, f"{deploy}.worker.Worker", *size, *paths, address))
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


def run(lake: Settings, command: list[str], **told: str) -> str:
    known = {"DATABASE_URL": lake.database_url, "LAKE_URL": lake.lake_url, "SPARK_LOCAL_IP": LOOPBACK}
    done = subprocess.run(command, env=os.environ | known | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def submit(lake: Settings, master: str, folder: Path, *words: str) -> str:
    """By spark-submit and a Python that has none of our libraries but those of the archive, here and there."""
    archive, unpacked = pack(folder / "environment.tar.gz"), folder / "environment"
    with tarfile.open(archive) as packed:
        packed.extractall(unpacked, filter="data")
    python = Path(sys.base_prefix) / "bin" / "python3"
    told = {
        "spark.pyspark.python": str(python),
        "spark.executorEnv.PYTHONPATH": "environment",
        # How many read is up to the cores that are there: all of them are waited for.
        "spark.cores.max": "4",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }
    settings = [word for name, value in told.items() for word in ("--conf", f"{name}={value}")]
    command = [str(SPARK_SUBMIT), "--master", master, "--archives", f"{archive}#environment", *settings]
    here = {"JAVA_HOME": str(java_home(folder)), "PYTHONPATH": str(unpacked)}
    return run(lake, [*command, str(unpacked / "spark_analytics" / "submit.py"), *words], **here)


def test_a_cluster_exports_with_a_packed_environment_and_a_worker_uses_it_time_and_again(
    master: str, settings_of_lake: Settings, tmp_path: Path
) -> None:
    make_history()
    submit(settings_of_lake, master, tmp_path, "lake", "export", "--all")
    made = LakeSlice.objects.get(kind=LakeKind.JOB)
    assert made.row_count == DeliveryJob.objects.count()
    # Half of the four cores read it, each a file of its own.
    assert len(list(Path(settings_of_lake.lake_url, "job", made.path).rglob("*.parquet"))) == 2

    until, here = f"{timezone.now() + timedelta(hours=1):%Y-%m-%dT%H:00Z}", tmp_path / "out"
    words = ["lake verify", *(f"report --to {until} --out {here}/{name}" for name in ("one", "two"))]
    told = run(settings_of_lake, [sys.executable, "-c", WORKER, *words], SPARK_MASTER=master)
    assert "5 equal, 0 changed since" in told

    for name in ("one", "two"):
        delivery = json.loads((here / name / "report.json").read_text())["reports"]["delivery"]["rows"]
        assert sum(row["jobs"] for row in delivery) == DeliveryJob.objects.count()
