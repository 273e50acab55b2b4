"""docs/client.md is true: its code runs against a running broker, in its order."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker_client import Broker
from tests.acceptance.engine import Engine
from tests.acceptance.servers import ROOT, wait_until

PAGE = (ROOT / "docs" / "client.md").read_text()
BLOCKS = re.findall(r"^## (.*?)$|^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"


def titled() -> list[Any]:
    """Each block under the name of its section."""
    found, title = [], ""
    for heading, code in BLOCKS:
        title = heading or title
        if code:
            found.append(pytest.param(code, id=title.lower().replace(" ", "-")))
    return found


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    """The page gives names of its own to channels and producers."""
    return own_engine


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the blocks before have left behind."""
    return {"__name__": "page"}


@pytest.mark.parametrize("code", titled())
def test_the_code_of_the_page_runs(
    engine: Engine, names: dict[str, Any], code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROKER_API_KEY", engine.web.headers["Authorization"].removeprefix("Bearer "))
    code = code.replace(ADDRESS, str(engine.web.base_url).rstrip("/"))
    if code.startswith("# worker.py"):
        run_worker(tmp_path / "worker.py", code, names["broker"])
    else:
        exec(compile(code, "docs/client.md", "exec"), names)  # noqa: S102


def run_worker(file: Path, code: str, broker: Broker) -> None:
    """As a reader would: as a file of its own, until a signal."""
    file.write_text(code)
    wanted = broker.publish("orders", {"order": 21})
    unwanted = broker.publish("orders", "no JSON", content_type="text/plain")
    process = subprocess.Popen([sys.executable, str(file)], env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        wait_until(lambda: _job_status(broker, wanted.message_id) == "DELIVERED", 60)
        wait_until(lambda: _job_status(broker, unwanted.message_id) == "DEAD", 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


def _job_status(broker: Broker, message_id: str) -> str:
    jobs = {job.document["consumer"]: job.status for job in broker.message("orders", message_id).jobs}
    return jobs.get("billing", "")
