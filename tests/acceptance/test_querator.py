"""Querator's calls against a running broker; docs/querator.md is true."""

import base64
import json
import os
import re
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.acceptance.engine import Engine, restarted
from tests.acceptance.servers import ROOT, wait_until

PAGE = (ROOT / "docs" / "querator.md").read_text()
BLOCKS = re.findall(r"^```(sh|json)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
END = "@@ the end of a block @@"
TIMES = {"lease_timeout": "1m", "expire_timeout": "24h", "requested_partitions": 1}


@dataclass
class Queue:
    """One of its own."""

    web: httpx.Client
    name: str

    @classmethod
    def made(cls, web: httpx.Client, **options: Any) -> "Queue":
        queue = cls(web, f"queue-{uuid.uuid4().hex[:12]}")
        queue.call("queues.create", **{**TIMES, **options})
        return queue

    def ask(self, call: str, **fields: Any) -> httpx.Response:
        return self.web.post(f"/v1/{call}", json={"queue_name": self.name, **fields}, timeout=120)

    def call(self, call: str, **fields: Any) -> Any:
        answer = self.ask(call, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def produce(self, *texts: str, due: datetime | None = None) -> None:
        at = {} if due is None else {"enqueue_at": due.isoformat()}
        self.call("queue.produce", request_timeout="1m", items=[{"utf8": text, **at} for text in texts])

    def lease(self, size: int = 1, client: str = "worker", timeout: str = "60s") -> list[dict[str, Any]]:
        asked = {"client_id": client, "batch_size": size, "request_timeout": timeout}
        found: list[dict[str, Any]] = self.call("queue.lease", **asked)["items"]
        return found

    def listed(self, kind: str) -> list[str]:
        return [text(item["payload"]) for item in self.call(f"storage/{kind}.list")["items"]]


def text(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    """It is restarted, and the page names its queues itself."""
    return own_engine


@pytest.fixture
def queue(engine: Engine) -> Queue:
    return Queue.made(engine.web)


def test_three_items_of_three_moments_arrive_in_order_though_nothing_else_comes(queue: Queue) -> None:
    now = datetime.now(UTC)
    moments = {name: now + timedelta(seconds=seconds) for name, seconds in (("third", 3), ("first", 1), ("second", 2))}
    for name, due in moments.items():
        queue.produce(name, due=due)
    assert sorted(queue.listed("scheduled")) == ["first", "second", "third"]
    assert queue.listed("items") == []

    for name in ("first", "second", "third"):
        [item] = queue.lease()
        assert text(item["bytes"]) == name
        assert datetime.now(UTC) >= moments[name]
        queue.call("queue.complete", request_timeout="5s", ids=[item["id"]])

    assert queue.listed("items") == queue.listed("scheduled") == []


def test_ten_items_of_one_moment_come_in_their_order(queue: Queue) -> None:
    due = datetime.now(UTC) + timedelta(seconds=1)
    names = [f"item-{number}" for number in range(10)]
    for name in names:
        queue.produce(name, due=due)

    found: list[str] = []
    while len(found) < len(names):
        found += [text(item["bytes"]) for item in queue.lease(size=10)]

    assert found == names


def test_who_waits_at_one_web_server_hears_of_what_is_produced_at_another(engine: Engine, queue: Queue) -> None:
    other = Queue(engine.broker.serve(), queue.name)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(other.lease, timeout="60s")
        wait_until(lambda: other.call("queue.stats")["logicalQueues"][0]["lease_waiting"] == 1, 30)
        queue.produce("hello")
        [item] = waiting.result(90)

    assert text(item["bytes"]) == "hello"


def test_a_retry_waits_for_its_time_among_the_scheduled_only(queue: Queue) -> None:
    queue.produce("again")
    [item] = queue.lease()
    due = datetime.now(UTC) + timedelta(seconds=2)

    queue.call("queue.retry", items=[{"id": item["id"], "retry_at": due.isoformat()}])

    assert queue.listed("items") == []
    [again] = queue.lease()
    assert (text(again["bytes"]), again["attempts"]) == ("again", 2)
    assert datetime.now(UTC) >= due


def test_a_lease_that_runs_out_frees_the_item_and_the_last_one_sends_it_to_the_dead_queue(engine: Engine) -> None:
    dead = Queue.made(engine.web)
    queue = Queue.made(engine.web, lease_timeout="500ms", max_attempts=2, dead_queue=dead.name)
    queue.produce("hopeless")
    queue.lease(client="first")
    [last] = queue.lease(client="second")

    [item] = dead.lease()

    assert text(item["bytes"]) == "hopeless"
    [stored] = dead.call("storage/items.list")["items"]
    assert stored["source_id"] == last["id"]
    [message] = messages_of(dead)
    history = json.loads(message["headers"]["X-Querator-History"])
    assert [(one["reason"], one["client"]) for one in history] == [("ack_timeout", "first"), ("ack_timeout", "second")]
    assert queue.listed("items") == []


def test_dead_by_its_clients_word_lands_in_the_dead_queue(engine: Engine) -> None:
    dead = Queue.made(engine.web)
    queue = Queue.made(engine.web, dead_queue=dead.name)
    queue.produce("refused")
    [item] = queue.lease(client="picky")

    queue.call("queue.retry", items=[{"id": item["id"], "dead": True}])

    assert text(dead.lease()[0]["bytes"]) == "refused"
    [message] = messages_of(dead)
    assert message["headers"]["X-Querator-Source-Queue"] == queue.name
    assert message["headers"]["X-Querator-Dead-Reason"] == "nacked"
    assert json.loads(message["headers"]["X-Querator-History"])[0]["client"] == "picky"


def messages_of(queue: Queue) -> list[dict[str, Any]]:
    listed = queue.web.get(f"/channel/{queue.name}/messages").json()["result"]
    return [queue.web.get(path).json() for path in listed]


def test_a_client_that_left_loses_nothing(engine: Engine, queue: Queue) -> None:
    asked = {"queue_name": queue.name, "client_id": "gone", "batch_size": 1, "request_timeout": "60s"}
    with pytest.raises(httpx.ReadTimeout):
        engine.web.post("/v1/queue.lease", json=asked, timeout=0.5)
    wait_until(lambda: queue.call("queue.stats")["logicalQueues"][0]["lease_waiting"] == 0, 30)

    queue.produce("kept")

    [item] = queue.lease()
    assert (text(item["bytes"]), item["attempts"]) == ("kept", 1)


def test_the_page_is_true(engine: Engine) -> None:
    """Its commands run in their order; after each block comes what the page shows."""
    script = "".join(f"{code}\necho; echo '{END}'\n" if kind == "sh" else "" for kind, code in BLOCKS)
    script = script.replace("export BROKER=http://127.0.0.1:8000 API_KEY=bk_…\n", "")
    key = engine.web.headers["Authorization"].removeprefix("Bearer ")
    environment = {**os.environ, "BROKER": str(engine.web.base_url).rstrip("/"), "API_KEY": key}
    command = ["bash", "-eu", "-c", script]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120)
    printed = iter(done.stdout.split(END))
    told = ""
    for kind, code in BLOCKS:
        if kind == "sh":
            told = next(printed).strip()
        else:
            # Of several answers of a block the last is shown.
            answers = [json.loads(line) for line in re.sub(r"\}\{", "}\n{", told).splitlines()]
            assert is_like(answers[-1], json.loads(code)), f"{answers[-1]}\nis not\n{code}"


def is_like(found: Any, shown: Any) -> bool:
    if isinstance(shown, dict) and isinstance(found, dict):
        return found.keys() == shown.keys() and all(is_like(found[name], shown[name]) for name in shown)
    if isinstance(shown, list) and isinstance(found, list):
        return len(found) == len(shown) and all(map(is_like, found, shown))
    return bool(found == shown or (shown == "…" and found))


def test_what_is_scheduled_outlives_a_restart_of_everything(engine: Engine) -> None:
    """The last one: nothing of the engine before is left."""
    queue = Queue.made(engine.web)
    queue.produce("later", due=datetime.now(UTC) + timedelta(seconds=3))
    queue.produce("now")

    queue = Queue(restarted(engine).web, queue.name)

    found = [text(queue.lease(timeout="10m")[0]["bytes"]) for _ in range(2)]
    assert sorted(found) == ["later", "now"]
