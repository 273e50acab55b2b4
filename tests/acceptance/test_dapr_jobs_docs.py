"""docs/dapr-jobs.md is true: its commands run against a running broker, in their order, and say what stands there."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.dapr import load_components
from tests.acceptance.npm import NODE, NPM
from tests.acceptance.servers import ROOT, Broker
from tests.acceptance.test_dapr_javascript import modules

__all__ = ["modules"]

PAGE = (ROOT / "docs" / "dapr-jobs.md").read_text()
# Each command, and the answer behind it if there is one.
COMMANDS = re.findall(r"^```sh\n(.*?)^```$(?:\n\n```json\n(.*?)^```$)?", PAGE, re.MULTILINE | re.DOTALL)
SCRIPTS = re.findall(r"^```js\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ANY = "…"


@pytest.fixture(scope="module")
def address(broker: Broker) -> str:
    load_components(broker)
    client = broker.serve()
    broker.environment["API_KEY"] = client.headers["Authorization"].removeprefix("Bearer ")
    return f"127.0.0.1:{client.base_url.port}"


def run(broker: Broker, *words: str, **more: str) -> str:
    done = subprocess.run(
        words, env={**broker.environment, **more}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(found: Any, written: Any) -> bool:
    """What the page leaves open may be anything."""
    if isinstance(found, dict) and isinstance(written, dict):
        return found.keys() == written.keys() and all(same(found[key], written[key]) for key in written)
    if isinstance(found, list) and isinstance(written, list):
        return len(found) == len(written) and all(map(same, found, written))
    return written in (ANY, found)


def test_the_commands_of_the_page_run_and_say_what_stands_there(broker: Broker, address: str) -> None:
    assert len(COMMANDS) >= 9
    for command, answer in COMMANDS:
        found = run(broker, "bash", "-ec", command.replace("127.0.0.1:8000", address))
        if answer:
            assert same(json.loads(found), json.loads(answer)), found


@pytest.mark.skipif(not (NPM and NODE), reason="no npm found: install Node.js to run Dapr's own client")
def test_the_script_of_the_page_runs(broker: Broker, address: str, modules: Path, tmp_path: Path) -> None:
    [script] = SCRIPTS
    file = tmp_path / "example.cjs"
    file.write_text(script.replace('"8000"', f'"{address.partition(":")[2]}"'))
    run(broker, str(NODE), str(file), NODE_PATH=str(modules), NODE_OPTIONS=os.environ.get("NODE_OPTIONS", ""))
