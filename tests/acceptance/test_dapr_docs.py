"""docs/dapr.md is true: its commands run against a running broker, in its order, and answer what it says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import ROOT, wait_until

PAGE = (ROOT / "docs" / "dapr.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSUMER, ADDRESS = "http://127.0.0.1:9000", "export BROKER=http://127.0.0.1:8000 API_KEY=bk_…\n"
PASSING = ("id", "time", "traceid", "traceparent")


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    """The page gives names of its own to channels."""
    return own_engine


def test_the_page_is_true(engine: Engine, receiver: Receiver, tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE)
    for (kind, text), (_, after) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "yaml":
            write_components(tmp_path, text)
        elif kind == "sh":
            check_answer(run(engine, receiver, tmp_path, text), after)
        elif text.startswith('{"specversion"'):
            check_event(receiver, json.loads(text))
    wait_until(lambda: any(b'"remind"' in delivery.body for delivery in receiver.deliveries), 60)


def write_components(place: Path, text: str) -> None:
    """The page's own, and one without delays under another name."""
    name = text.splitlines()[0].removeprefix("# ")
    (place / name).write_text(text)
    (place / "plain-pubsub.yaml").write_text(text.replace("orders-pubsub", "plain-pubsub").replace('"true"', '"false"'))


def run(engine: Engine, receiver: Receiver, place: Path, text: str) -> str:
    key = engine.web.headers["Authorization"].removeprefix("Bearer ")
    own = {"BROKER": str(engine.web.base_url).rstrip("/"), "API_KEY": key}
    text = text.replace(ADDRESS, "").replace(CONSUMER, receiver.url)
    text = text.replace("./broker manage", f"{sys.executable} {ROOT}/manage.py")
    environment = {**engine.broker.environment, **own}
    done = subprocess.run(
        ["bash", "-euc", text], cwd=place, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def check_answer(said: str, expected: str) -> None:
    if expected.startswith("{"):
        assert json.loads(said.splitlines()[-1]) == json.loads(expected)
    else:
        assert said == expected


def check_event(receiver: Receiver, expected: dict[str, Any]) -> None:
    wait_until(lambda: bool(receiver.deliveries), 60)
    event = json.loads(receiver.deliveries[0].body)
    assert event.keys() == expected.keys()
    assert {name: event[name] for name in event if name not in PASSING} == {
        name: expected[name] for name in expected if name not in PASSING
    }
