"""X-Broker-Schedule-Mode: replace, through the door of a real web server."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.acceptance.servers import Broker

TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    client = broker.serve(REFUSALS_PER_MINUTE="0", MANAGEMENT_RATE_PER_SECOND="0")
    client.put("/channel/orders", json={"token": "open"})
    client.put("/channel/paced", json={"token": "open", "rateLimit": {"perSecond": 0.01, "burst": 1}})
    for producer in ("shop", "other"):
        client.put(f"/producer/{producer}", json={"token": "sell"})
    return client


@pytest.fixture
def name() -> str:
    return uuid.uuid4().hex


def ahead(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


def send(web: httpx.Client, name: str, body: bytes = b"x", channel: str = "orders", **headers: str) -> httpx.Response:
    """For later and in the place of another, unless said otherwise; an empty word leaves the header out."""
    given = {"Scheduled_For": ahead(hours=1), "Schedule_Mode": "replace", "Message_ID": name, **headers}
    named = {f"X-Broker-{key.replace('_', '-')}": value for key, value in given.items() if value}
    return web.post(f"/channel/{channel}/broadcast", content=body, headers={**TOKENS, **named})


def shown(web: httpx.Client, name: str) -> dict[str, object]:
    return dict(web.get(f"/channel/orders/scheduled-message/{name}").json())


def test_the_first_is_new_and_the_next_takes_its_place(web: httpx.Client, name: str) -> None:
    first = send(web, name, b"one")
    second = send(web, name, b"two", Scheduled_For="2030-01-01T12:00:00Z", Message_Priority="4")

    assert (first.status_code, second.status_code, second.content) == (201, 200, b"")
    assert first.headers["location"] == second.headers["location"] == f"/channel/orders/scheduled-message/{name}"
    message = shown(web, name)
    assert (message["payload"], message["priority"], message["dispatchSchedule"]) == ("two", 4, "2030-01-01T12:00:00Z")


def test_without_an_id_it_is_new(web: httpx.Client) -> None:
    assert send(web, "").status_code == 201


def test_without_the_mode_the_same_id_is_409_as_ever(web: httpx.Client, name: str) -> None:
    send(web, name, b"one")

    assert send(web, name, b"two", Schedule_Mode="").json()["code"] == "duplicate_message"
    assert shown(web, name)["payload"] == "one"


@pytest.mark.parametrize("mode", ["append", "Replace", "replace,replace"])
def test_any_other_word_is_400(web: httpx.Client, name: str, mode: str) -> None:
    refused = send(web, name, Schedule_Mode=mode)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_schedule_mode")
    assert web.get(f"/channel/orders/scheduled-message/{name}").status_code == 404


def test_it_is_for_later_only(web: httpx.Client, name: str) -> None:
    refused = send(web, name, Scheduled_For="")

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_schedule_mode")
    assert web.get(f"/channel/orders/message/{name}").status_code == 404


def test_two_headers_are_400(web: httpx.Client, name: str) -> None:
    headers = [
        *TOKENS.items(),
        ("X-Broker-Scheduled-For", ahead(hours=1)),
        *[("X-Broker-Schedule-Mode", "replace")] * 2,
    ]

    refused = web.post("/channel/orders/broadcast", content=b"x", headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (400, "repeated_header")


def test_the_other_checks_are_those_of_every_broadcast(web: httpx.Client, name: str) -> None:
    send(web, name, b"one")

    answers = [
        send(web, name, Channel_Token="wrong"),
        send(web, name, Producer_ID="nobody"),
        send(web, name, Scheduled_For="soon"),
        send(web, name, Scheduled_For=ahead(minutes=1)),
        send(web, name, b""),
        send(web, name, Message_Priority="high"),
        send(web, name, Producer_ID="other"),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (403, "wrong_token"),
        (401, "unknown_producer"),
        (400, "invalid_scheduled_for"),
        (412, "scheduled_too_soon"),
        (400, "empty_payload"),
        (400, "invalid_priority"),
        (403, "another_producers_message"),
    ]
    assert shown(web, name)["payload"] == "one"


def test_what_was_cancelled_or_sent_is_409_with_its_place(web: httpx.Client, name: str) -> None:
    send(web, name)
    assert web.delete(f"/channel/orders/scheduled-message/{name}").status_code == 204
    cancelled = send(web, name)
    send(web, f"{name}-now", Scheduled_For="", Schedule_Mode="")
    plain = send(web, f"{name}-now")

    assert (cancelled.status_code, cancelled.json()["code"]) == (409, "already_cancelled")
    assert cancelled.headers["location"] == f"/channel/orders/scheduled-message/{name}"
    assert (plain.status_code, plain.json()["code"], plain.json()["samePayload"]) == (409, "duplicate_message", True)
    assert plain.headers["location"] == f"/channel/orders/message/{name}-now"


def test_it_counts_for_the_rate_limit(web: httpx.Client, name: str) -> None:
    answers = [send(web, name, channel="paced") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 429]
    assert answers[1].json()["code"] == "channel_rate_limited"


def test_many_at_once_leave_one_message(web: httpx.Client, name: str) -> None:
    payloads = [f"p{number}".encode() for number in range(16)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda payload: send(web, name, payload), payloads))

    assert sorted(answer.status_code for answer in answers) == [200] * 15 + [201]
    assert str(shown(web, name)["payload"]).encode() in payloads
