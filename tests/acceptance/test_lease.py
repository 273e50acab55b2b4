"""Consumers that ask, over HTTP, with the real engine."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.servers import wait_until

TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}


class Puller:
    """A channel of its own with one consumer that asks."""

    def __init__(self, engine: Engine, **fields: Any) -> None:
        self.channel = Channel(engine.web, uuid.uuid4().hex[:12])
        self.web = engine.web
        engine.web.put(f"/channel/{self.channel.name}", json={"token": "open"}).raise_for_status()
        self.path = f"/channel/{self.channel.name}/consumer/k"
        engine.web.put(self.path, json={"type": "pull", "token": "mine", **fields}).raise_for_status()

    def lease(self, **fields: Any) -> httpx.Response:
        return self.web.post(f"{self.path}/lease", json=fields, headers=TOKENS, timeout=60)

    def leased(self, **fields: Any) -> list[dict[str, Any]]:
        answer = self.lease(**fields)
        assert answer.status_code == 200, answer.text
        jobs: list[dict[str, Any]] = answer.json()["result"]
        return jobs

    def publish(self, body: bytes = b"hello", **headers: str) -> str:
        sent = self.channel.publish(body, **headers)
        assert sent.status_code == 201, sent.text
        return str(sent.headers["Location"])


@pytest.fixture
def puller(engine: Engine) -> Puller:
    return Puller(engine)


def test_who_waits_is_answered_as_soon_as_something_comes(puller: Puller) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(puller.leased, waitSeconds=30, limit=10, deviceId="pump-7")
        location = puller.publish(b'{"n": 1}', Message_Priority="3", Message_ID="m-1")
        [job] = waiting.result(60)

    assert (job["attempt"], job["priority"]) == (1, 3)
    assert job["message"] == {
        "messageId": "m-1",
        "payload": '{"n": 1}',
        "contentType": "text/plain",
        "headers": {},
    }
    assert puller.channel.statuses(location) == ["INFLIGHT"]
    assert puller.leased() == []


def test_a_payload_that_is_no_text_comes_as_base64(puller: Puller) -> None:
    puller.publish(b"\xff\x00")
    [job] = puller.leased(waitSeconds=30)

    assert job["message"]["payloadBase64"] == "/wA="


def test_no_two_who_ask_get_the_same_job(puller: Puller) -> None:
    for _ in range(50):
        puller.publish()

    def drain() -> list[str]:
        ids: list[str] = []
        while batch := puller.leased(limit=7, waitSeconds=1):
            ids += [job["id"] for job in batch]
        return ids

    with ThreadPoolExecutor(4) as threads:
        given = [job for drained in [threads.submit(drain) for _ in range(4)] for job in drained.result(120)]
    assert len(given) == len(set(given)) == 50


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": True}, "limit"),
        ({"leaseSeconds": 3601}, "leaseSeconds"),
        ({"leaseSeconds": "soon"}, "leaseSeconds"),
        ({"waitSeconds": 31}, "waitSeconds"),
        ({"waitSeconds": -1}, "waitSeconds"),
        ({"maxBytes": 0}, "maxBytes"),
        ({"deviceId": "a\x00b"}, "deviceId"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_asked_for_is_named(puller: Puller, fields: dict[str, Any], wrong: str) -> None:
    refused = puller.lease(**fields)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_document")
    assert [error["field"] for error in refused.json()["errors"]] == [wrong]


def test_names_are_taken_in_any_case_and_a_body_may_be_missing(puller: Puller) -> None:
    assert puller.lease(LIMIT=1).status_code == 200
    assert puller.web.post(f"{puller.path}/lease", headers=TOKENS).json() == {"result": []}


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"limit=1", "application/x-www-form-urlencoded", 415),
        (b"[" * 100_000, "application/json", 413),
    ],
)
def test_a_body_that_is_no_document_is_refused(puller: Puller, body: bytes, kind: str, status: int) -> None:
    refused = puller.web.post(f"{puller.path}/lease", content=body, headers={**TOKENS, "Content-Type": kind})

    assert refused.status_code == status, refused.text
    assert refused.headers["Content-Type"] == "application/problem+json"


def test_both_tokens_are_needed(puller: Puller) -> None:
    path = f"{puller.path}/lease"
    for missing in TOKENS:
        tokens = {name: value for name, value in TOKENS.items() if name != missing}
        assert puller.web.post(path, headers=tokens).json()["code"] == "wrong_token"
    assert puller.web.post("/channel/none/consumer/k/lease", headers=TOKENS).json()["code"] == "unknown_channel"
    nobody = puller.web.post(f"/channel/{puller.channel.name}/consumer/nobody/lease", headers=TOKENS)
    assert (nobody.status_code, nobody.json()["code"]) == (404, "unknown_consumer")
    assert puller.web.get(path, headers=TOKENS).status_code == 405


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"pullMode": "index"}, 409, "not_leasing"),
        ({"type": "push", "callbackUrl": "http://127.0.0.1:9"}, 412, "not_pull"),
    ],
)
def test_leases_are_for_consumers_that_take_leases(
    engine: Engine, fields: dict[str, Any], status: int, code: str
) -> None:
    refused = Puller(engine, **fields).lease()

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_client_that_leaves_before_its_answer_takes_nothing_along(engine: Engine, puller: Puller) -> None:
    address = (engine.web.base_url.host, engine.web.base_url.port)
    for _ in range(3):
        with socket.create_connection(address) as leaver:
            leaver.sendall(request_of(puller, b'{"waitSeconds": 30}'))
    puller.publish()

    [job] = puller.leased(waitSeconds=30)
    read = puller.channel.read(f"/channel/{puller.channel.name}/message/{job['message']['messageId']}")
    assert read["jobs"][0]["failures"] == 0


def test_500_who_wait_hold_five_connections_at_most(engine: Engine, puller: Puller) -> None:
    def connections() -> int:
        with psycopg.connect(engine.broker.database_url, autocommit=True) as own:
            row = own.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
        return int(row[0]) if row else 0

    async def wait_together() -> tuple[int, list[int]]:
        limits = httpx.Limits(max_connections=500)
        async with httpx.AsyncClient(base_url=engine.web.base_url, headers=TOKENS, limits=limits, timeout=60) as web:
            asked = [asyncio.create_task(web.post(f"{puller.path}/lease", json={"waitSeconds": 5})) for _ in range(500)]
            held = 0
            while not all(one.done() for one in asked):
                held = max(held, await asyncio.to_thread(connections))
                await asyncio.sleep(0.1)
            return held, [one.result().status_code for one in asked]

    before = connections()
    held, answers = asyncio.run(wait_together())
    assert held <= before + 5
    assert answers == [200] * 500


@pytest.fixture
def second_web(engine: Engine) -> Iterator[httpx.Client]:
    web = engine.broker.serve(REDIS_URL=engine.redis_url)
    yield web
    web.close()


def test_a_server_that_stops_answers_those_who_wait(engine: Engine, puller: Puller, second_web: httpx.Client) -> None:
    process, url = engine.broker.processes[-1], second_web.base_url
    body = b'{"waitSeconds": 30}'
    with socket.create_connection((url.host, url.port), timeout=60) as waiter:
        waiter.sendall(request_of(puller, body))
        # Whoever came later has been answered: this one has been heard.
        for _ in range(3):
            assert second_web.get("/healthz").status_code == 200
        os.kill(process.pid, signal.SIGTERM)
        answer = b"".join(iter(lambda: waiter.recv(65_536), b""))

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"result":[]}')
    assert process.wait(30) == -signal.SIGTERM


def request_of(puller: Puller, body: bytes) -> bytes:
    head = (
        f"POST {puller.path}/lease HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"X-Broker-Channel-Token: open\r\nX-Broker-Consumer-Token: mine\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def test_a_token_that_was_changed_during_the_wait_opens_nothing(puller: Puller) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(puller.lease, waitSeconds=30)
        tag = puller.web.get(puller.path).headers["ETag"]
        puller.web.put(puller.path, json={"token": "another"}, headers={"If-Match": tag}).raise_for_status()
        wait_until(lambda: puller.lease().status_code == 403, 30)
        location = puller.publish()

        assert waiting.result(60).status_code == 403

    wait_until(lambda: puller.channel.statuses(location) == ["QUEUED"], 30)


def test_who_waits_at_a_channel_that_is_deleted_is_told(puller: Puller) -> None:
    path = f"/channel/{puller.channel.name}"
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(puller.lease, waitSeconds=5)
        tag = puller.web.get(path).headers["ETag"]
        assert puller.web.delete(path, headers={"If-Match": tag}).status_code == 204

        assert waiting.result(60).json()["code"] == "unknown_channel"
