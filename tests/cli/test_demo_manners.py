"""How the demo's receiver answers: a table, and a real process."""

import json
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from broker_project.demo.manners import LIFE, OUTAGE_AT_SECONDS, OUTAGE_EVERY_SECONDS, OUTAGE_SECONDS, answer
from broker_project.demo.payloads import LARGE_AMOUNT
from tests.acceptance.servers import ROOT

FINE = b'{"amount": 1, "email": "ada@example.com"}'
LARGE = json.dumps({"amount": LARGE_AMOUNT}).encode()


@pytest.mark.parametrize(
    ("manner", "count", "elapsed", "body", "status"),
    [
        ("healthy", 1, 0, FINE, 200),
        ("healthy", 9_999, OUTAGE_AT_SECONDS, b"", 200),
        ("slow", 1, 0, FINE, 200),
        ("flaky", 1, OUTAGE_AT_SECONDS, FINE, 502),
        ("flaky", 1, OUTAGE_AT_SECONDS + OUTAGE_SECONDS - 0.1, FINE, 502),
        ("flaky", 1, OUTAGE_EVERY_SECONDS + OUTAGE_AT_SECONDS, FINE, 502),
        ("retiring", LIFE, 0, FINE, 200),
        ("retiring", LIFE + 1, 0, FINE, 410),
        ("picky", 1, 0, FINE, 200),
        ("picky", 1, 0, b'{"email": ""}', 422),
        ("picky", 1, 0, b"no JSON", 422),
        ("choosy", 1, 0, FINE, 200),
        ("choosy", 1, 0, LARGE, 500),
        ("choosy", 1, 0, b"[]", 200),
    ],
)
def test_each_manner_answers_in_its_own_way(manner: str, count: int, elapsed: float, body: bytes, status: int) -> None:
    assert answer(manner, count, elapsed, body, seed=1).status == status


def test_the_flaky_one_fails_a_fifth_of_the_time_and_the_same_way_for_the_same_seed() -> None:
    given = [answer("flaky", count, 0, FINE, seed=1).is_failure for count in range(2_000)]
    assert sum(given) / len(given) == pytest.approx(0.2, abs=0.03)
    assert given == [answer("flaky", count, 0, FINE, seed=1).is_failure for count in range(2_000)]


def test_the_slow_one_takes_one_to_three_seconds() -> None:
    waits = [answer("slow", count, 0, FINE, seed=1).wait_seconds for count in range(500)]
    assert 1 <= min(waits) < 1.1
    assert 2.9 < max(waits) <= 3


@pytest.fixture
def process() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "broker_project.demo.receiver", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def test_the_receiver_counts_what_it_took_and_ends_with_whoever_started_it(process: "subprocess.Popen[str]") -> None:
    assert process.stdout
    assert process.stdin
    url = f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    statuses = [
        httpx.post(f"{url}/{manner}/demo-orders/x", content=body).status_code
        for manner, body in (("healthy", FINE), ("choosy", LARGE), ("picky", b"{}"))
    ]
    assert statuses == [200, 500, 422]
    assert httpx.get(f"{url}/seen").json() == {"received": 1, "failed": 2}
    process.stdin.close()
    assert process.wait(timeout=30) == 0
