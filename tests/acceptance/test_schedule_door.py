"""Messages for later as clients send and read them: over a socket, to a real web server. No worker runs."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import httpx
import psycopg
import pytest

from tests.acceptance.servers import Broker

AWAY = "unix:///nonexistent/redis.sock?db=0"
TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
LATER = "2030-12-31T23:59:59Z"
# Everything of a lane that is due by then; a clock is all that dispatching is told.
DISPATCH = """
from datetime import datetime, UTC
from scheduling_app import dispatch
for lane, _ in dispatch.lanes_due(0, now=datetime(2031, 1, 1, tzinfo=UTC)):
    while not dispatch.dispatch_batch(lane, now=datetime(2031, 1, 1, tzinfo=UTC)).is_empty:
        pass
print("done")
"""
# A body with its length takes the short way in, one in chunks the long way.
WAYS: dict[str, Callable[[bytes], bytes | Iterator[bytes]]] = {
    "short": lambda body: body,
    "long": lambda body: iter([body[:1], body[1:]]),
}


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    web = broker.serve(REDIS_URL=AWAY, MANAGEMENT_RATE_PER_SECOND="0", REFUSALS_PER_MINUTE="0")
    web.put("/producer/shop", json={"token": "sell", "name": "ProducerName"})
    return web


@dataclass
class Channel:
    web: httpx.Client
    broker: Broker
    name: str

    def send(self, way: str, *lines: tuple[str, str], body: bytes = b"hello", **headers: Any) -> httpx.Response:
        """Keyword names are headers with underscores, in place of the right ones."""
        named = {**TOKENS, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.web.post(
            f"/channel/{self.name}/broadcast", content=WAYS[way](body), headers=[*named.items(), *lines]
        )

    def schedule(self, message_id: str, at: str = LATER, body: bytes = b"hello", **headers: str) -> httpx.Response:
        answer = self.send("short", body=body, X_Broker_Message_ID=message_id, X_Broker_Scheduled_For=at, **headers)
        assert answer.status_code == 201, answer.text
        return answer

    def send_batch(self, items: list[Any], query: str = "") -> httpx.Response:
        return self.web.post(f"/channel/{self.name}/broadcast/batch{query}", json=items, headers=TOKENS)

    def get(self, path: str) -> Any:
        answer = self.web.get(f"/channel/{self.name}/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def follow(self, link: str) -> list[str]:
        """All pages from this one on."""
        body = self.web.get(link).json()
        return body["result"] + (self.follow(body["pages"]["next"]) if "next" in body["pages"] else [])

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Of a statement that names this channel's row with %s."""
        with psycopg.connect(self.broker.database_url, autocommit=True) as connection:
            [(row_id,)] = connection.execute("SELECT id FROM channel WHERE public_id = %s", [self.name]).fetchall()
            return connection.execute(statement, [row_id]).fetchall()

    def cancel(self, message_id: str) -> None:
        cancelled = "UPDATE scheduled_message SET status = 102 WHERE channel_id = %s AND message_id = '{}' RETURNING id"
        assert len(self.rows(cancelled.format(message_id))) == 1

    def stored(self) -> int:
        [(now, later)] = self.rows(
            """SELECT count(*) FILTER (WHERE NOT scheduled), count(*) FILTER (WHERE scheduled)
               FROM message_key WHERE channel_id = %s"""
        )
        return int(now + later)


@pytest.fixture
def channel(web: httpx.Client, broker: Broker) -> Channel:
    return make(web, broker)


def make(web: httpx.Client, broker: Broker, **fields: Any) -> Channel:
    name = uuid.uuid4().hex[:12]
    made = web.put(f"/channel/{name}", json={"token": "open", **fields})
    assert made.status_code == 201, made.text
    return Channel(web, broker, name)


def ahead(**time: float) -> str:
    return (datetime.now(UTC) + timedelta(**time)).isoformat()


def said(answer: httpx.Response) -> tuple[int, str]:
    if answer.status_code < 300:
        return answer.status_code, ""
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text",
    [
        "2025/12/31 23:59:59",
        "2030-12-31T23:59:59",
        "",
        "99999-01-01T00:00:00Z",
        "2030-12-31T23:59:60Z",
        "2030-02-30T00:00:00Z",
        "tomorrow",
    ],
)
def test_what_is_no_time_with_a_zone_is_400(channel: Channel, text: str, way: str) -> None:
    assert said(channel.send(way, X_Broker_Scheduled_For=text)) == (400, "invalid_scheduled_for")
    assert channel.stored() == 0


@pytest.mark.parametrize("way", WAYS)
def test_two_times_are_400(channel: Channel, way: str) -> None:
    lines = [("X-Broker-Scheduled-For", LATER), ("X-Broker-Scheduled-For", LATER)]

    assert said(channel.send(way, *lines)) == (400, "repeated_header")
    assert channel.stored() == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", [{"minutes": 1}, {"seconds": 0}, {"days": -400}])
def test_too_near_and_past_are_412(channel: Channel, at: dict[str, float], way: str) -> None:
    assert said(channel.send(way, X_Broker_Scheduled_For=ahead(**at))) == (412, "scheduled_too_soon")
    assert channel.stored() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_channel_without_delayed_messaging_takes_messages_for_now_only(
    web: httpx.Client, broker: Broker, way: str
) -> None:
    channel = make(web, broker, delayedMessaging=False)

    assert said(channel.send(way, X_Broker_Scheduled_For=LATER)) == (400, "delayed_messaging_disabled")
    assert said(channel.send(way)) == (201, "")
    assert channel.stored() == 1


@pytest.mark.parametrize("way", WAYS)
def test_refusals_come_in_the_order_of_the_contract(web: httpx.Client, broker: Broker, way: str) -> None:
    """Each request has everything wrong that comes later."""
    channel, shut = make(web, broker), make(web, broker, delayedMessaging=False)
    nowhere = Channel(web, broker, "nowhere")
    past: dict[str, Any] = {"X_Broker_Scheduled_For": ahead(minutes=-1)}
    wrong: dict[str, Any] = {"X_Broker_Scheduled_For": "soon"}
    token: dict[str, Any] = {"X_Broker_Channel_Token": "no"}
    key: dict[str, Any] = {"X_Broker_Producer_Token": "no"}
    bad: dict[str, Any] = {"X_Broker_Message_Priority": "high", "body": b""}

    def code(at: Channel, **what: Any) -> str:
        return said(at.send(way, **{**bad, **what}))[1]

    assert said(nowhere.send(way, **token, **key, **wrong)) == (404, "unknown_channel")
    assert said(shut.send(way, **token, **key, **wrong))[0] == 403
    assert said(shut.send(way, X_Broker_Producer_ID="nobody", **wrong))[0] == 401
    assert said(shut.send(way, **key, **wrong))[0] == 403
    assert code(shut, **wrong) == "invalid_scheduled_for"
    assert code(shut, **past) == "delayed_messaging_disabled"
    assert code(channel, **past) == "scheduled_too_soon"
    assert code(channel, X_Broker_Scheduled_For=LATER) == "empty_payload"
    assert code(channel, X_Broker_Scheduled_For=LATER, body=b"x") == "invalid_priority"
    assert channel.stored() == shut.stored() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_message_for_later_is_kept_whole_under_its_own_address(channel: Channel, way: str) -> None:
    answer = channel.send(
        way,
        body=b"hello there",
        X_Broker_Message_ID="m1",
        X_Broker_Scheduled_For="2030-12-31T23:59:59.25+01:00",
        X_Broker_Message_Priority="-7",
        X_Broker_Metadata_Headers="X-Custom-Header",
        X_Custom_Header="value",
        Content_Type="text/plain",
    )

    place = f"/channel/{channel.name}/scheduled-message/m1"
    assert (answer.status_code, answer.content, answer.headers["location"]) == (201, b"", place)
    shown = channel.get("scheduled-message/m1")
    assert shown.pop("id").isdigit()
    assert list(shown.items()) == [
        ("messageId", "m1"),
        ("contentType", "text/plain"),
        ("priority", -7),
        ("producedBy", "ProducerName"),
        ("dispatchSchedule", "2030-12-31T22:59:59.250000Z"),
        ("dispatchedDate", None),
        ("status", "SCHEDULED"),
        ("payload", "hello there"),
        ("headers", {"X-Custom-Header": "value"}),
    ]
    assert channel.web.get(f"/channel/{channel.name}/message/m1").status_code == 404


@pytest.mark.parametrize("way", WAYS)
def test_an_id_is_used_once_now_or_later(channel: Channel, way: str) -> None:
    """Whoever sends again is told where the first is, and whether it is the same."""
    channel.send("short", X_Broker_Message_ID="now")
    channel.schedule("later")
    channel.schedule("cancelled")
    channel.cancel("cancelled")

    for name, kind in (("now", "message"), ("later", "scheduled-message"), ("cancelled", "scheduled-message")):
        for times, body in product(([], [("X-Broker-Scheduled-For", LATER)]), (b"hello", b"other")):
            again = channel.send(way, *times, X_Broker_Message_ID=name, body=body)
            assert said(again) == (409, "duplicate_message")
            assert again.headers["location"] == f"/channel/{channel.name}/{kind}/{name}"
            assert again.json()["samePayload"] is (body == b"hello")
    assert channel.stored() == 3


def test_of_the_same_id_sent_at_once_one_is_stored(channel: Channel) -> None:
    def send(turn: int) -> int:
        times = [("X-Broker-Scheduled-For", LATER)] if turn % 2 else []
        return channel.send("short", *times, X_Broker_Message_ID=f"m{turn // 8}").status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(send, range(160)))

    assert statuses == {201: 20, 409: 140}
    [(now, later)] = channel.rows(
        """SELECT (SELECT count(*) FROM message m WHERE m.channel_id = channel.id),
                  (SELECT count(*) FROM scheduled_message s WHERE s.channel_id = channel.id)
           FROM channel WHERE id = %s"""
    )
    assert now + later == 20


def test_a_batch_mixes_messages_for_now_and_for_later(channel: Channel) -> None:
    answer = channel.send_batch(
        [
            {"payload": "a", "messageId": "a", "scheduledFor": LATER},
            {"payload": "b", "messageId": "b"},
            {"payload": "c", "messageId": "c", "ScheduledFor": None},
            {"payloadBase64": "/w==", "messageId": "d", "SCHEDULEDFOR": "2031-01-01T00:00:00+00:00", "priority": 3},
        ]
    )

    assert answer.status_code == 201, answer.text
    kinds = ["scheduled-message/a", "message/b", "message/c", "scheduled-message/d"]
    assert answer.json()["result"] == [f"/channel/{channel.name}/{kind}" for kind in kinds]
    assert [channel.get(kind)["priority"] for kind in kinds] == [0, 0, 0, 3]
    last = channel.get("scheduled-message/d")
    assert (last["payloadBase64"], "payload" in last, last["dispatchSchedule"]) == (
        "/w==",
        False,
        "2031-01-01T00:00:00Z",
    )


def test_one_bad_time_refuses_a_whole_batch(channel: Channel) -> None:
    times = [LATER, "2030-12-31T23:59:59", ahead(minutes=1), 1, ""]
    answer = channel.send_batch([{"payload": "x"}, *({"payload": "x", "scheduledFor": time} for time in times)])

    assert said(answer) == (400, "invalid_batch")
    assert [(error["field"], error["code"]) for error in answer.json()["errors"]] == [
        ("[2].scheduledFor", "invalid_scheduled_for"),
        ("[3].scheduledFor", "scheduled_too_soon"),
        ("[4].scheduledFor", "invalid_scheduled_for"),
        ("[5].scheduledFor", "invalid_scheduled_for"),
    ]
    assert channel.stored() == 0


def test_an_id_that_waits_refuses_a_whole_batch(channel: Channel) -> None:
    channel.schedule("b")

    answer = channel.send_batch([{"payload": "x", "messageId": "a"}, {"payload": "hello", "messageId": "b"}])

    assert said(answer) == (409, "duplicate_message")
    assert [error["field"] for error in answer.json()["errors"]] == ["[1].messageId"]
    assert channel.stored() == 1


def test_with_partial_each_item_has_its_own_status(channel: Channel) -> None:
    channel.schedule("waits")
    channel.send("short", X_Broker_Message_ID="went")

    answer = channel.send_batch(
        [
            {"payload": "x", "messageId": "new", "scheduledFor": LATER},
            {"payload": "x", "messageId": "now"},
            {"payload": "hello", "messageId": "waits", "scheduledFor": LATER},
            {"payload": "x", "messageId": "went", "scheduledFor": LATER},
            {"payload": "x", "scheduledFor": ahead(minutes=1)},
            {"payload": "x", "scheduledFor": "30 February"},
            {"payload": "x", "messageId": "new"},
        ],
        "?partial=true",
    )

    assert answer.status_code == 207
    result, place = answer.json()["result"], f"/channel/{channel.name}"
    assert [one["status"] for one in result] == [201, 201, 409, 409, 412, 400, 409]
    assert [one.get("location") for one in result[:4]] == [
        f"{place}/scheduled-message/new",
        f"{place}/message/now",
        f"{place}/scheduled-message/waits",
        f"{place}/message/went",
    ]
    assert [one["samePayload"] for one in result[2:4]] == [True, False]
    assert channel.stored() == 4


def test_a_batch_says_that_a_channel_takes_none_for_later(web: httpx.Client, broker: Broker) -> None:
    shut = make(web, broker, delayedMessaging=False)

    answer = shut.send_batch([{"payload": "x", "scheduledFor": LATER}, {"payload": "x"}], "?partial=true")

    assert [one["status"] for one in answer.json()["result"]] == [400, 201]
    assert answer.json()["result"][0]["code"] == "delayed_messaging_disabled"


def test_the_list_has_pages_and_a_status(channel: Channel) -> None:
    for number in range(5):
        channel.schedule(f"m{number}")
    channel.cancel("m1")
    place = f"/channel/{channel.name}/scheduled-message"

    whole = channel.get("scheduled-messages")
    assert whole == {"result": [f"{place}/m{number}" for number in (4, 3, 2, 1, 0)], "pages": {}}

    first = channel.get("scheduled-messages?limit=2&status=scheduled")
    assert first["result"] == [f"{place}/m4", f"{place}/m3"]
    assert list(first["pages"]) == ["next"]
    second = channel.web.get(first["pages"]["next"]).json()
    assert second["result"] == [f"{place}/m2", f"{place}/m0"]
    assert channel.web.get(second["pages"]["prev"]).json()["result"] == first["result"]

    for status in ("CANCELLED", "102", "cancelled"):
        assert channel.get(f"scheduled-messages?status={status}")["result"] == [f"{place}/m1"]
    assert len(channel.get("scheduled-messages?status=100&status=CANCELLED")["result"]) == 5


@pytest.mark.parametrize("query", ["status=WAITING", "status=1001", "status=", "page=nonsense", "limit=0", "limit=x"])
def test_a_list_asked_for_wrongly_is_400(channel: Channel, query: str) -> None:
    assert channel.web.get(f"/channel/{channel.name}/scheduled-messages?{query}").status_code == 400


def test_reads_need_a_key_or_the_channels_token(channel: Channel) -> None:
    channel.schedule("m")

    for path in ("scheduled-messages", "scheduled-message/m", "scheduled-partitions", "messages-status"):
        url = f"{channel.web.base_url}/channel/{channel.name}/{path}"
        assert httpx.get(url).status_code in (401, 403)
        assert httpx.get(url, headers={"X-Broker-Channel-Token": "open"}).status_code == 200
        assert channel.web.get(f"/channel/nowhere/{path}").status_code == 404
    assert channel.web.get(f"/channel/{channel.name}/scheduled-message/other").status_code == 404


def test_messages_status_counts_what_its_links_find(channel: Channel) -> None:
    empty = channel.get("messages-status")
    assert empty["next_scheduled_message_at"] is None
    assert {name: one["count"] for name, one in empty["counts"].items()} == {
        "ACKNOWLEDGED": 0,
        "DISPATCHED": 0,
        "SCHEDULED": 0,
        "SCHEDULED_DISPATCHED": 0,
    }
    for number in range(30):
        channel.schedule(f"due-{number}", f"2030-06-01T00:00:{number:02}Z")
    for number in range(27):
        channel.schedule(f"far-{number}", f"2040-06-01T00:00:{59 - number:02}Z")
    channel.schedule("cancelled", "2030-01-01T00:00:00Z")
    channel.cancel("cancelled")
    channel.send("short", X_Broker_Message_ID="now")
    assert channel.get("messages-status")["next_scheduled_message_at"] == "2030-06-01T00:00:00Z"

    channel.broker.manage("shell", "-c", DISPATCH)

    place = f"/channel/{channel.name}"
    assert json.dumps(channel.get("messages-status")) == json.dumps(
        {
            "counts": {
                "ACKNOWLEDGED": {"count": 1, "links": {"messages": f"{place}/messages?status=100"}},
                "DISPATCHED": {"count": 30, "links": {"messages": f"{place}/messages?status=101"}},
                "SCHEDULED": {"count": 27, "links": {"messages": f"{place}/scheduled-messages?status=100"}},
                "SCHEDULED_DISPATCHED": {"count": 30, "links": {"messages": f"{place}/scheduled-messages?status=101"}},
            },
            "next_scheduled_message_at": "2040-06-01T00:00:33Z",
        }
    )
    for one in channel.get("messages-status")["counts"].values():
        found = channel.follow(one["links"]["messages"])
        assert len(found) == len(set(found)) == one["count"]


def test_a_dispatched_message_keeps_its_id_and_shows_when_it_went(channel: Channel) -> None:
    channel.schedule("m", body=b"\x00\xff", Content_Type="image/x")

    channel.broker.manage("shell", "-c", DISPATCH)

    shown = channel.get("scheduled-message/m")
    assert (shown["status"], shown["dispatchedDate"]) == ("DISPATCHED", "2031-01-01T00:00:00Z")
    message = channel.get("message/m")
    assert (message["id"], message["payloadBase64"], message["status"]) == ("m", "AP8=", "DISPATCHED")
    again = channel.send("short", X_Broker_Message_ID="m", X_Broker_Scheduled_For=LATER, body=b"\x00\xff")
    assert (said(again), again.json()["samePayload"]) == ((409, "duplicate_message"), True)
    assert again.headers["location"] == f"/channel/{channel.name}/message/m"


def test_partitions_are_given_by_least_load_and_stay(web: httpx.Client, broker: Broker) -> None:
    channel = make(web, broker, partitions=4)
    web.put(f"/channel/{channel.name}/consumer/k", json={"callbackUrl": "http://127.0.0.1:9/", "token": "mine"})
    [first, *rest] = [f"2030-06-01T00:{number // 60:02}:{number % 60:02}Z" for number in range(400)]
    channel.schedule("m0", first)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: channel.schedule(f"m{place[0]}", place[1]), enumerate(rest, start=1)))

    partitions = channel.get("scheduled-partitions")["result"]
    assert [one["partition"] for one in partitions] == [0, 1, 2, 3]
    assert all(80 <= one["depth"] <= 120 for one in partitions), partitions
    assert sum(one["depth"] for one in partitions) == 400
    assert min(one["oldestDueAt"] for one in partitions) == first
    assert {one["lagSeconds"] for one in partitions} == {0.0}

    broker.manage("shell", "-c", DISPATCH)

    moved = channel.rows(
        """SELECT s.partition, m.partition, j.partition FROM scheduled_message s
           JOIN message m USING (channel_id, message_id) JOIN delivery_job j ON j.message_id = m.id
           WHERE s.channel_id = %s"""
    )
    assert len(moved) == 400
    assert {len(set(row)) for row in moved} == {1}
    assert [one["depth"] for one in channel.get("scheduled-partitions")["result"]] == [0, 0, 0, 0]
