"""Who is let in, what is read, and how a refusal looks: always in Querator's shape."""

import json
import threading
from typing import Any

import pytest
import redis

from broker_project.api.door_bucket import door_bucket
from channels_app.api import keys
from channels_app.models import ApiKey
from channels_app.registry import registry
from tests.scheduling_app.querator.client import Client, Line


def test_without_a_key_nobody_is_let_in(orders: Line, redis_client: redis.Redis) -> None:
    for key in ("", "wrong"):
        answer = Client(key).ask("queues.list")
        assert answer.json()["code"] == answer.status_code == 401
        assert answer.json()["code_text"] == "Unauthorized"
        assert orders.name not in answer.text


def test_guesses_are_paced(client: Client, settings: Any, redis_client: redis.Redis) -> None:
    settings.REFUSALS_PER_MINUTE = 1
    door_bucket.cache_clear()
    stranger = Client("wrong")
    told = [stranger.ask("queues.list").status_code for _ in range(3)]
    door_bucket.cache_clear()

    assert told[-1] == 429
    assert client.ask("queues.list").status_code == 200


@pytest.mark.usefixtures("long_memory")
def test_a_key_that_is_known_does_not_stand_in_line_with_guesses(orders: Line) -> None:
    assert orders.is_empty()
    is_over = threading.Event()
    guess = keys._thread().submit(is_over.wait, 30)

    assert orders.is_empty()

    assert not guess.done()
    is_over.set()


def test_a_key_that_is_revoked_is_forgotten_with_the_registrys_version(orders: Line) -> None:
    assert orders.is_empty()
    ApiKey.objects.all().revoke()
    registry().refresh()

    assert orders.client.ask("queues.list").status_code == 401


def test_an_open_door_asks_for_no_key(orders: Line, settings: Any) -> None:
    settings.OPEN_DOORS = ["querator"]

    assert Client("").ask("queues.list").status_code == 200


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'"text"', ""),
        (b"[" * 100_000, "application/json"),
        (b'{"limit": 1' + b"0" * 5000 + b"}", "application/json"),
        (b'{"limit": NaN}', "application/json"),
        (b"\xff\xfe\x00", "application/json"),
        (b"\x0a\x03abc", "application/protobuf"),
        (b"limit=1", "application/x-www-form-urlencoded"),
    ],
)
def test_what_is_not_its_json_is_a_content_error(client: Client, content: bytes, kind: str) -> None:
    answer = client.send("/v1/queues.list", content, **({"Content-Type": kind} if kind else {}))

    assert answer.json()["code"] == answer.status_code == 455
    assert answer.json()["code_text"] == "Client Content Error"
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "*/*", "application/*"])
def test_json_has_several_names(client: Client, kind: str) -> None:
    assert client.send("/v1/queues.list", b"{}", **{"Content-Type": kind}).status_code == 200
    assert client.send("/v1/queues.list", b"").json() == {"items": []}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_there_is_only_post(client: Client, method: str) -> None:
    answer = client.send("/v1/queues.list", method=method)

    told = {"code": 400, "code_text": "Bad Request", "message": "the method is not allowed; only POST"}
    assert answer.json() == {**told, "details": {"reason": "method_not_allowed"}}


@pytest.mark.parametrize("call", ["queue.defer", "queues.rebalance", "storage/items.import", "storage/scheduled.add"])
def test_a_call_that_there_is_not(client: Client, call: str) -> None:
    assert client.refused(call) == (501, f"no such method; /v1/{call}")


def test_a_body_that_is_too_large_is_refused_in_its_shape(client: Client) -> None:
    large = json.dumps({"queue_name": "q" * 300_000}).encode()

    answer = client.send("/v1/queue.lease", large)

    assert answer.json()["code"] == answer.status_code == 400
    assert "larger than" in answer.json()["message"]


def test_too_many_brackets_are_refused_before_they_are_parsed(orders: Line) -> None:
    content = b'{"queue_name": "orders", "items": [' + b"{}," * 200_000 + b"{}]}"

    assert orders.client.send("/v1/queue.produce", content).status_code == 400
