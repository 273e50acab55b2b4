"""What an application has delayed, as operators and the application itself see it."""

import base64
import json
from typing import Any

import httpx
import pytest

from tests.acceptance.dapr import App, load_components
from tests.acceptance.servers import Broker


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    load_components(broker)
    return broker.serve()


def delay(app: App, topic: str, number: int, hours: int, **metadata: str) -> None:
    query = {f"metadata.{name}": value for name, value in {"scheduledSendTime": f"{hours}h", **metadata}.items()}
    done = app.call("POST", f"/v1.0/publish/later/{topic}", json={"n": number}, params=query)
    assert done.status_code == 204, done.text


def listed(app: App, name: str, **query: Any) -> list[dict[str, Any]]:
    answer = app.call("GET", f"/v1.0/delayed/{name}", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["result"]
    return found


def numbers(messages: list[dict[str, Any]]) -> list[int]:
    return [json.loads(sent(one))["data"]["n"] for one in messages]


def sent(one: dict[str, Any]) -> bytes:
    message = base64.b64decode(one["message"])
    return base64.b64decode(json.loads(message)["event"]) if one["bulkPublish"] else message


def take(app: App, name: str, **document: Any) -> httpx.Response:
    return app.call("POST", f"/v1.0/delayed/{name}/take", json=document)


def test_what_waits_is_listed_soonest_first_with_all_that_is_known(web: httpx.Client) -> None:
    app = App(web, "one")
    delay(app, "orders/eu", 2, hours=2, ttlInSeconds="60")
    delay(app, "bills", 1, hours=1)
    entry = {"entryId": "e", "event": {"n": 3}, "contentType": "application/json"}
    bulk = app.call("POST", "/v1.0/publish/bulk/later/bills", json=[entry], params={"metadata.scheduledSendTime": "3h"})
    assert bulk.status_code == 204, bulk.text
    # Not what goes now, nor another's, nor a job.
    assert app.call("POST", "/v1.0/publish/events/bills", json={}).status_code == 204
    assert app.schedule("job", dueTime="1h").status_code == 204
    delay(App(web, "one-more"), "bills", 9, hours=1)

    found = listed(app, "one-delayed")

    assert numbers(found) == [1, 2, 3]
    assert [one["topic"] for one in found] == ["bills", "orders/eu", "bills"]
    assert [one["bulkPublish"] for one in found] == [False, False, True]
    assert found[1]["metadata"] == {"scheduledSendTime": "2h", "ttlInSeconds": "60"}
    assert {one["contentType"] for one in found} == {"application/json"}
    assert {one["pubsubName"] for one in found} == {"later"}
    assert found[0]["dueTime"] < found[1]["dueTime"] < found[2]["dueTime"]


def test_pages_go_on_where_the_last_ended(web: httpx.Client) -> None:
    app = App(web, "two")
    for number in range(5):
        delay(app, "t", number, hours=1 + number // 2)
    path, seen = "/v1.0/delayed/two-delayed?limit=2", []
    while path:
        page = app.call("GET", path).json()
        assert len(page["result"]) <= 2
        seen += numbers(page["result"])
        path = page["pages"].get("next", "")
    assert seen == [0, 1, 2, 3, 4]


def test_a_namespace_has_a_listing_of_its_own(web: httpx.Client) -> None:
    app, spaced = App(web, "three"), App(web, "three")
    spaced.headers["dapr-namespace"] = "prod"
    delay(app, "t", 1, hours=1)
    delay(spaced, "t", 2, hours=1)

    assert numbers(listed(app, "three-delayed")) == [1]
    assert numbers(listed(app, "threeprod-delayed")) == [2]


def test_what_is_taken_is_handed_over_once_and_not_sent(web: httpx.Client) -> None:
    app = App(web, "four")
    for number in range(3):
        delay(app, "four-topic", number, hours=1 + number)

    assert numbers(take(app, "four-delayed", limit=2).json()["result"]) == [0, 1]
    assert numbers(listed(app, "four-delayed")) == [2]
    assert numbers(take(app, "four-delayed").json()["result"]) == [2]
    assert take(app, "four-delayed").json() == {"result": []}
    counts = web.get("/channel/four-topic/messages-status").json()["counts"]
    assert counts["SCHEDULED"]["count"] == 0
    cancelled = web.get("/channel/four-topic/scheduled-messages?status=CANCELLED").json()
    assert len(cancelled["result"]) == 3


def test_a_producer_sees_its_own_and_a_stranger_nothing(web: httpx.Client) -> None:
    web.put("/producer/five", json={"token": "fifth"})
    web.put("/producer/other", json={"token": "others"})
    five, other = App(web, "five", "fifth"), App(web, "other", "others")
    delay(five, "t", 5, hours=1)
    delay(other, "t", 6, hours=2)

    assert numbers(listed(five, "five-delayed")) == [5]
    assert numbers(listed(other, "five-delayed")) == []
    assert numbers(listed(other, "other-delayed")) == [6]
    assert numbers(listed(App(web, ""), "five-delayed")) == [5]
    assert numbers(take(five, "five-delayed").json()["result"]) == [5]
    for call in ("GET", "POST"):
        path = "/v1.0/delayed/five-delayed" + ("/take" if call == "POST" else "")
        assert App(web, "five", "wrong").call(call, path).status_code == 401


def test_an_open_door_shows_and_hands_over_only_what_is_of_daprs_channels(web: httpx.Client, broker: Broker) -> None:
    web.put("/channel/private", json={})
    manager = App(web, "ten")
    delay(manager, "private", 1, hours=1)
    delay(manager, "public", 2, hours=2)
    stranger = App(broker.serve(OPEN_DOORS="dapr"), "anybody")
    del stranger.headers["dapr-api-token"]

    assert numbers(listed(stranger, "ten-delayed")) == [2]
    assert numbers(take(stranger, "ten-delayed").json()["result"]) == [2]
    assert numbers(listed(App(stranger.web, ""), "ten-delayed")) == [1]
    assert numbers(take(App(stranger.web, ""), "ten-delayed").json()["result"]) == [1]


def test_a_producer_without_a_key_takes_nothing_from_a_channel_that_is_none_of_daprs(web: httpx.Client) -> None:
    web.put("/producer/eleven", json={"token": "eleventh"})
    web.put("/channel/ledger", json={})
    delay(App(web, "eleven"), "ledger", 1, hours=1)

    own = App(web, "eleven", "eleventh")
    assert listed(own, "eleven-delayed") == []
    assert take(own, "eleven-delayed").json() == {"result": []}
    assert numbers(listed(App(web, "eleven"), "eleven-delayed")) == [1]


def test_large_ones_come_in_pages_of_a_few_megabytes(web: httpx.Client) -> None:
    app = App(web, "six")
    for _ in range(12):
        done = app.call(
            "POST", "/v1.0/publish/later/t?metadata.scheduledSendTime=1h&metadata.rawPayload=true", content=b"x" * 10**6
        )
        assert done.status_code == 204, done.text
    page = app.call("GET", "/v1.0/delayed/six-delayed").json()
    rest = app.call("GET", page["pages"]["next"]).json()
    assert (len(page["result"]), len(rest["result"]), rest["pages"]) == (9, 3, {})
    assert [len(take(app, "six-delayed").json()["result"]) for _ in range(3)] == [9, 3, 0]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "orders", None, 404),
        ("GET", "a%00-delayed", None, 404),
        ("GET", "a-delayed?limit=0", None, 400),
        ("GET", "a-delayed?limit=101", None, 400),
        ("GET", "a-delayed?limit=x", None, 400),
        ("GET", "a-delayed?page=x", None, 400),
        ("GET", "a-delayed?page=OTk5OTk5OTk5OTk5OTk5OTk5LTE", None, 400),
        ("GET", "a-delayed?page=" + "A" * 500, None, 400),
        ("GET", "a-delayed?" + "&".join(f"a{number}=1" for number in range(30)), None, 400),
        ("POST", "a-delayed", b"", 405),
        ("POST", "orders/take", b"", 404),
        ("POST", "a-delayed/take", b"[]", 400),
        ("POST", "a-delayed/take", b"{", 400),
        ("POST", "a-delayed/take", b'{"limit": 0}', 400),
        ("POST", "a-delayed/take", b'{"limit": true}', 400),
        ("POST", "a-delayed/take", b'{"limit": 1e9999}', 400),
        ("POST", "a-delayed/take", b"[" * 60_000, 400),
    ],
)
def test_what_cannot_be_understood_is_refused(
    web: httpx.Client, method: str, path: str, body: bytes | None, status: int
) -> None:
    answer = App(web, "seven").call(method, f"/v1.0/delayed/{path}", content=body)
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"errorCode", "message", "details"}


def test_an_entry_of_a_bulk_request_is_listed_whole(web: httpx.Client) -> None:
    app = App(web, "eight")
    entry = {"entryId": "e1", "event": "hello", "contentType": "text/plain", "metadata": {"rawPayload": "true"}}
    path = "/v1.0/publish/bulk/later/orders?metadata.deliverAfter=1h"
    assert app.call("POST", path, json=[entry]).status_code == 204

    [one] = listed(app, "eight-delayed")

    assert one["bulkPublish"] is True
    told = json.loads(base64.b64decode(one["message"]))
    assert base64.b64decode(told["event"]) == b"hello"
    assert (told["entryId"], told["contentType"]) == ("e1", "text/plain")
    assert told["metadata"] == one["metadata"] == {"rawPayload": "true", "deliverAfter": "1h"}


@pytest.mark.parametrize("path", ["publish/later", "publish/bulk/later"])
def test_a_listing_is_no_topic(web: httpx.Client, path: str) -> None:
    app = App(web, "nine")
    answer = app.call("POST", f"/v1.0/{path}/nine-delayed", json=[{"entryId": "1", "event": 1}])
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "ERR_TOPIC_NAME_INVALID")
    assert "/v1.0/delayed/nine-delayed" in answer.json()["message"]
    assert web.get("/channel/nine-delayed").status_code == 404
