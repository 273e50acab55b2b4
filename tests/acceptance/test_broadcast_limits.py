"""Limits at the doors, with a real web server and a real Redis."""

import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest
import redis

from tests.acceptance.servers import Broker, wait_until

TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
SLOW = {"perSecond": 0.01, "burst": 3}


@pytest.fixture(scope="module")
def web(broker: Broker) -> Iterator[httpx.Client]:
    number = 50 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    url = f"{os.environ['REDIS_URL'].partition('?')[0]}?db={number}"
    settings = {"MANAGEMENT_RATE_PER_SECOND": "0", "MAX_PAYLOAD_BYTES": "1000", "MAX_BATCH_BYTES": "100000"}
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        web = broker.serve(REDIS_URL=url, REFUSALS_PER_MINUTE="5", **settings)
        web.put("/producer/shop", json={"token": "sell"})
        yield web
        client.flushdb()


@dataclass
class Channel:
    web: httpx.Client
    name: str

    def publish(self, **headers: str) -> httpx.Response:
        named = {f"X-Broker-{name.replace('_', '-')}": value for name, value in headers.items()}
        return self.web.post(f"/channel/{self.name}/broadcast", content=b"x", headers={**TOKENS, **named})

    def batch(self, number: int, query: str = "", prefix: str = "", **headers: str) -> httpx.Response:
        ids = [{"messageId": f"{prefix}{place}"} if prefix else {} for place in range(number)]
        named = {f"X-Broker-{name.replace('_', '-')}": value for name, value in headers.items()}
        return self.web.post(
            f"/channel/{self.name}/broadcast/batch{query}",
            json=[{"payload": "x", **given} for given in ids],
            headers={**TOKENS, **named},
        )


@pytest.fixture
def make(web: httpx.Client) -> Any:
    def channel(**fields: Any) -> Channel:
        name = uuid.uuid4().hex[:12]
        assert web.put(f"/channel/{name}", json={"token": "open", **fields}).status_code == 201
        return Channel(web, name)

    return channel


def refused(answer: httpx.Response, code: str) -> int:
    """Asserts that this limit refused; returns when to come back."""
    assert (answer.status_code, answer.json()["code"]) == (429, code), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    return int(answer.headers["Retry-After"])


def test_a_channel_over_its_rate_is_429_with_a_time_to_come_back(make: Any) -> None:
    channel = make(rateLimit=SLOW)

    assert [channel.publish().status_code for _ in range(3)] == [201] * 3
    assert 90 <= refused(channel.publish(), "channel_rate_limited") <= 100
    refused(channel.batch(1), "channel_rate_limited")


def test_a_producer_over_its_rate_is_told_apart(make: Any, web: httpx.Client) -> None:
    web.put("/producer/slow", json={"token": "sell", "rateLimit": SLOW})
    channel = make(rateLimit={"perSecond": 1000})

    assert [channel.publish(Producer_ID="slow").status_code for _ in range(3)] == [201] * 3
    refused(channel.publish(Producer_ID="slow"), "producer_rate_limited")
    assert channel.publish().status_code == 201


def test_a_batch_takes_a_token_for_each_message_and_a_large_one_goes_into_debt(make: Any) -> None:
    channel = make(rateLimit=SLOW)

    assert channel.batch(2).status_code == 201
    refused(channel.batch(2), "channel_rate_limited")
    assert channel.publish().status_code == 201
    refused(channel.publish(), "channel_rate_limited")
    larger = make(rateLimit=SLOW)
    assert larger.batch(50).status_code == 201
    assert refused(larger.batch(50, "?partial=true"), "channel_rate_limited") > 4_900


def test_an_id_that_was_used_is_409_before_429(make: Any) -> None:
    channel = make(rateLimit=SLOW)
    assert channel.batch(3, prefix="m").status_code == 201

    again = channel.publish(Message_ID="m1")
    assert (again.status_code, again.json()["samePayload"]) == (409, True)
    assert again.headers["Location"] == f"/channel/{channel.name}/message/m1"
    batch = channel.batch(3, prefix="m")
    assert (batch.status_code, batch.json()["samePayload"]) == (409, True)
    refused(channel.publish(Message_ID="another"), "channel_rate_limited")


def test_a_limit_that_is_lifted_is_lifted_within_a_second(make: Any, web: httpx.Client) -> None:
    channel = make(rateLimit={"perSecond": 0.01})
    assert channel.publish().status_code == 201
    refused(channel.publish(), "channel_rate_limited")

    path = f"/channel/{channel.name}"
    changed = web.put(path, json={"rateLimit": None}, headers={"If-Match": web.get(path).headers["ETag"]})

    assert changed.status_code == 200, changed.text
    wait_until(lambda: channel.publish().status_code == 201, 5)


def test_a_full_backlog_is_429_until_there_is_room(make: Any, broker: Broker) -> None:
    channel = make(maxBacklog=10)

    assert channel.batch(10).status_code == 201
    wait_until(lambda: channel.publish().status_code == 429, 5)
    assert refused(channel.publish(), "backlog_full") >= 1
    refused(channel.batch(1), "backlog_full")
    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        connection.execute(
            """UPDATE message SET status = 101 FROM channel
               WHERE channel.id = channel_id AND public_id = %s""",
            (channel.name,),
        )
    wait_until(lambda: channel.publish().status_code == 201, 5)


def test_an_address_that_guesses_too_often_gets_429_and_the_right_token_still_opens(make: Any) -> None:
    channel = make()

    def guess() -> list[int]:
        answers = (
            channel.publish(Channel_Token="guess"),
            channel.publish(Producer_ID="nobody"),
            channel.batch(1, Producer_Token="guess"),
        )
        return [answer.status_code for answer in answers]

    statuses = [*guess(), *guess(), *guess()]

    assert statuses[:5] == [403, 401, 403, 403, 401]
    assert statuses[6:] == [429] * 3
    assert refused(channel.publish(Channel_Token="guess"), "throttled") >= 1
    assert channel.publish().status_code == 201


def test_batches_beyond_the_memory_set_aside_for_them_are_503(make: Any, web: httpx.Client) -> None:
    channel = make()
    fields = {**TOKENS, "Host": "broker", "Content-Type": "application/json"}
    lines = [f"POST /channel/{channel.name}/broadcast/batch HTTP/1.1", *(f"{name}: {fields[name]}" for name in fields)]
    body = json.dumps([{"payload": "x" * 900}] * 100).encode()

    def send() -> httpx.Response:
        return web.post(f"/channel/{channel.name}/broadcast/batch", content=body, headers=fields)

    def send_beside_another_slow_one() -> httpx.Response:
        slow = stack.enter_context(socket.create_connection((web.base_url.host, web.base_url.port), timeout=20))
        slow.sendall("\r\n".join([*lines, "Content-Length: 100000", "", "["]).encode())
        return send()

    with ExitStack() as stack:
        wait_until(lambda: send_beside_another_slow_one().status_code == 503, 10)
        full = send()
        assert (full.json()["code"], "Retry-After" in full.headers) == ("door_full", True)
    wait_until(lambda: send().status_code == 201, 10)
