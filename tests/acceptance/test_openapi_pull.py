"""What the doors for consumers that ask answer is what the OpenAPI document says, to the field."""

from typing import Any

import jsonschema_rs
import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.servers import wait_until
from tests.acceptance.test_lease import Puller
from tests.acceptance.test_poll import Poller, make_channel, publish, register

ADDRESS = "/channel/{channel_id}/consumer/{consumer_id}"


@pytest.fixture(scope="module")
def document(engine: Engine) -> Any:
    return engine.web.get("/openapi.json").json()


@pytest.fixture
def poller(engine: Engine) -> Poller:
    return register(make_channel(engine))


def check(document: Any, method: str, path: str, answer: Any) -> None:
    """Whole, and nothing else in it."""
    described = document["paths"][ADDRESS + path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema_rs.validator_for(described, validate_formats=True).validate(answer)


def test_a_lease_is_answered_as_it_says(engine: Engine, document: Any) -> None:
    puller = Puller(engine)
    check(document, "post", "/lease", puller.lease().json())
    puller.publish(b"text", Message_Priority="-3")
    puller.publish(b"\xff")
    found: list[Any] = []

    def has_all() -> bool:
        answer = puller.lease(waitSeconds=5, deviceId="pump-7").json()
        check(document, "post", "/lease", answer)
        found.extend(answer["result"])
        return len(found) == 2

    wait_until(has_all, 30)


def test_polls_acks_and_seeks_are_answered_as_it_says(document: Any, poller: Poller) -> None:
    check(document, "get", "/poll", poller.poll())
    publish(poller.channel, 3)

    check(document, "get", "/poll", poller.poll())
    check(document, "get", "/message-at/{index}", poller.get("message-at/1").json())
    for said in ({"index": 2}, {"upTo": 3}, {"index": 2}):
        check(document, "post", "/ack", poller.post("ack", said).json())
    for place in ({"index": 1}, {"time": "2026-01-01T00:00:00Z"}):
        check(document, "post", "/seek", poller.post("seek", place).json())


def test_each_refusal_is_one_that_it_names(engine: Engine, document: Any, poller: Poller) -> None:
    publish(poller.channel, 1)
    leaser = Puller(engine)
    as_poller = Poller(leaser.channel)
    refused = [
        ("post", "/lease", poller.post("lease", {})),
        ("post", "/lease", leaser.lease(limit=0)),
        ("get", "/poll", as_poller.get("poll")),
        ("get", "/poll", poller.get("poll?limit=0")),
        ("get", "/message-at/{index}", poller.get("message-at/1")),
        ("get", "/message-at/{index}", poller.get("message-at/9")),
        ("post", "/ack", poller.post("ack", {"index": 1})),
        ("post", "/ack", poller.post("ack", {"index": 1, "upTo": 1})),
        ("post", "/seek", poller.post("seek", {"index": 9})),
        ("post", "/seek", as_poller.post("seek", {"index": 0})),
    ]

    assert [answer.status_code for *_, answer in refused] == [409, 400, 409, 400, 409, 404, 409, 400, 400, 409]
    for method, path, answer in refused:
        described = document["paths"][ADDRESS + path][method]["responses"][str(answer.status_code)]
        assert answer.json()["code"] in described["description"] or answer.status_code != 409
