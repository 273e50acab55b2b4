"""Many messages in one request, as clients send them: over a socket, to a real web server."""

import base64
import json
import socket
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from tests.acceptance.servers import Broker

AWAY = "unix:///nonexistent/redis.sock?db=0"
TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    web = broker.serve(
        REDIS_URL=AWAY,
        MANAGEMENT_RATE_PER_SECOND="0",
        MAX_PAYLOAD_BYTES="100000",
        MAX_BATCH_BYTES="1000000",
        MAX_BATCH_MESSAGES="500",
    )
    web.put("/producer/shop", json={"token": "sell"})
    return web


@dataclass
class Channel:
    web: httpx.Client
    name: str

    def send(self, items: Sequence[Any], query: str = "", **headers: str) -> httpx.Response:
        return self.send_raw(json.dumps(items).encode(), "application/json", query, **headers)

    def send_raw(self, body: bytes, content_type: str, query: str = "", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.web.post(
            f"/channel/{self.name}/broadcast/batch{query}",
            content=body,
            headers={**TOKENS, "Content-Type": content_type, **named},
        )

    def read(self, message_id: str) -> Any:
        return self.web.get(f"/channel/{self.name}/message/{message_id}").json()

    def ids(self) -> list[str]:
        """Newest first."""
        return [path.rpartition("/")[2] for path in self.web.get(f"/channel/{self.name}/messages").json()["result"]]


@pytest.fixture
def channel(web: httpx.Client) -> Channel:
    name = uuid.uuid4().hex[:12]
    assert web.put(f"/channel/{name}", json={"token": "open"}).status_code == 201
    return Channel(web, name)


def codes(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(error["field"], error["code"]) for error in answer.json()["errors"]]


def test_a_batch_is_stored_in_order_with_all_that_it_says(channel: Channel) -> None:
    raw = bytes(range(256))
    answer = channel.send(
        [
            {"payload": "text with an ü", "messageId": "z", "contentType": "text/plain", "priority": -3},
            {"payloadBase64": base64.b64encode(raw).decode(), "messageId": "a", "headers": {"X-Trace": "1"}},
            {"payload": {"order": 1, "lines": [1.5, None, "€"]}, "messageId": "m"},
            {"payload": "no id"},
        ]
    )

    assert answer.status_code == 201, answer.text
    locations = answer.json()["result"]
    assert locations[:3] == [f"/channel/{channel.name}/message/{name}" for name in "zam"]
    assert channel.ids()[::-1] == [location.rpartition("/")[2] for location in locations]
    z, a, m = map(channel.read, "zam")
    assert (z["payload"], z["contentType"], z["priority"]) == ("text with an ü", "text/plain", -3)
    assert (base64.b64decode(a["payloadBase64"]), a["headers"]) == (raw, {"X-Trace": "1"})
    assert (m["payload"], m["contentType"]) == ('{"order":1,"lines":[1.5,null,"€"]}', "application/json")
    assert a["contentType"] == "application/octet-stream"


@pytest.mark.parametrize("content_type", [NDJSON, "application/ndjson", "application/jsonl; charset=UTF-8"])
def test_ndjson_is_an_item_a_line(channel: Channel, content_type: str) -> None:
    body = b'{"PAYLOAD": "a", "MessageID": "1"}\r\n\n{"payload": "b", "messageid": "2"}'

    assert channel.send_raw(body, content_type).status_code == 201
    assert channel.ids() == ["2", "1"]


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/json; charset=utf-16"])
def test_another_media_type_is_415(channel: Channel, content_type: str) -> None:
    assert channel.send_raw(b"[]", content_type).status_code == 415


def test_one_bad_item_refuses_all_and_every_bad_item_is_named(channel: Channel) -> None:
    answer = channel.send(
        [{"payload": "fine"}, {"payload": ""}, {"payload": "x", "priority": "high"}, {"payload": "x", "Colour": 1}]
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_batch")
    assert codes(answer) == [
        ("[1].payload", "empty_payload"),
        ("[2].priority", "invalid_priority"),
        ("[3].Colour", "unknown_field"),
    ]
    assert channel.ids() == []


def test_no_more_than_a_hundred_errors_are_listed(channel: Channel) -> None:
    assert len(codes(channel.send([1] * 300))) == 100


def test_an_id_that_is_taken_refuses_all(channel: Channel) -> None:
    channel.send([{"payload": "first", "messageId": "b"}])

    answer = channel.send([{"payload": "x", "messageId": name} for name in ("a", "b", "c")])

    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_message")
    assert codes(answer) == [("[1].messageId", "duplicate_message")]
    assert answer.json()["samePayload"] is False
    assert channel.ids() == ["b"]


def test_an_id_twice_in_a_batch_refuses_all(channel: Channel) -> None:
    answer = channel.send([{"payload": "x", "messageId": name} for name in ("a", "b", "a")])

    assert answer.status_code == 409
    assert codes(answer) == [("[2].messageId", "duplicate_message")]
    assert channel.ids() == []


def test_a_batch_sent_again_is_told_that_it_was_there(channel: Channel) -> None:
    items = [{"payload": name, "messageId": name} for name in ("a", "b")]
    channel.send(items)

    assert channel.send(items).json()["samePayload"] is True


def test_with_partial_each_item_has_its_own_result(channel: Channel) -> None:
    channel.send([{"payload": "before", "messageId": "old"}])

    answer = channel.send(
        [
            {"payload": "before", "messageId": "old"},
            {"payload": "first", "messageId": "twice"},
            {"payload": "x", "headers": {"Host": "evil"}},
            {"payload": "second", "messageId": "twice"},
        ],
        "?partial=true",
    )

    assert answer.status_code == 207
    old, first, refused, second = answer.json()["result"]
    place = f"/channel/{channel.name}/message"
    assert (old["status"], old["location"], old["samePayload"]) == (409, f"{place}/old", True)
    assert first == {"status": 201, "location": f"{place}/twice"}
    assert (refused["status"], refused["code"], refused["field"]) == (400, "reserved_header", "[2].headers")
    assert (second["status"], second["code"], second["samePayload"]) == (409, "duplicate_message", False)
    assert channel.read("twice")["payload"] == "first"


def test_with_partial_a_line_that_is_not_json_spoils_no_other(channel: Channel) -> None:
    body = b'{"payload": "a"}\n{"payload": \n{"payload": "b"} {}\n\xff\n{"payload": "c"}'

    answer = channel.send_raw(body, NDJSON, "?partial=true")

    assert [result["status"] for result in answer.json()["result"]] == [201, 400, 400, 400, 201]


def test_partial_is_true_or_false(channel: Channel) -> None:
    assert channel.send([{"payload": "x"}], "?partial=false").status_code == 201
    assert channel.send([{"payload": "x"}], "?partial=yes").json()["code"] == "invalid_partial"


def test_the_sizes_of_a_batch_are_limited(channel: Channel) -> None:
    assert channel.send([]).json()["code"] == "empty_batch"
    assert channel.send([{"payload": "x"}] * 500).status_code == 201
    many = channel.send([{"payload": "x"}] * 501)
    assert (many.status_code, many.json()["code"]) == (413, "too_many_messages")
    large = channel.send([{"payload": "x" * 100_001}])
    assert codes(large) == [("[0].payload", "payload_too_large")]
    assert channel.send([{"payload": "x" * 99_000}] * 11).status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X_Broker_Channel_Token": "wrong"}, 403),
        ({"X_Broker_Producer_ID": "nobody"}, 401),
        ({"X_Broker_Producer_Token": "wrong"}, 403),
    ],
)
def test_tokens_come_before_the_items(channel: Channel, headers: dict[str, str], status: int) -> None:
    assert channel.send_raw(b"nonsense", "text/plain", **headers).status_code == status
    nowhere = Channel(channel.web, "nowhere")
    assert nowhere.send_raw(b"nonsense", "text/plain", **headers).status_code == 404


def test_a_large_body_is_not_read_from_a_stranger(channel: Channel) -> None:
    address = (channel.web.base_url.host, channel.web.base_url.port)
    with socket.create_connection(address, timeout=20) as connection:
        head = [f"POST /channel/{channel.name}/broadcast/batch HTTP/1.1", "Host: broker", "Content-Length: 900000"]
        connection.sendall("\r\n".join([*head, "", ""]).encode())

        assert connection.recv(100).startswith(b"HTTP/1.1 403 ")


def test_batches_with_the_same_ids_at_once_are_stored_once(channel: Channel) -> None:
    items = [{"payload": "x", "messageId": f"m{number}"} for number in range(300)]

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda turn: channel.send(items[:: 1 - 2 * (turn % 2)]).status_code, range(8)))

    assert sorted(statuses) == [201] + [409] * 7


def test_counters_and_keys_agree_with_the_rows(channel: Channel, broker: Broker) -> None:
    channel.send([{"payload": "x", "messageId": str(number)} for number in range(50)])
    channel.send([{"payload": "x", "messageId": str(number)} for number in range(40, 60)], "?partial=true")

    with psycopg.connect(broker.database_url) as connection:
        [counts] = connection.execute(
            """SELECT (SELECT count(*) FROM message WHERE channel_id = channel.id),
                      (SELECT count(*) FROM message_key WHERE channel_id = channel.id),
                      (SELECT sum(count) FROM counter_delta WHERE channel_id = channel.id)
               FROM channel WHERE public_id = %s""",
            (channel.name,),
        ).fetchall()
    assert counts == (60, 60, 60)
