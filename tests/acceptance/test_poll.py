"""Polling by index on a running broker: the doors, the words of refusal, and being told that there is work."""

import itertools
import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}


@dataclass
class Poller:
    """A consumer that asks the door."""

    channel: Channel
    name: str = "k"

    def get(self, rest: str, headers: dict[str, str] = TOKENS) -> httpx.Response:
        return self.channel.web.get(self.path(rest), headers=headers)

    def post(self, rest: str, body: Any) -> httpx.Response:
        return self.channel.web.post(self.path(rest), json=body, headers=TOKENS)

    def poll(self, **query: int) -> Any:
        return self.get(f"poll?{'&'.join(f'{name}={value}' for name, value in query.items())}").json()

    def take(self, **query: int) -> list[int]:
        return [item["index"] for item in self.poll(**query)["result"]]

    @property
    def last(self) -> int:
        """As a poll says it that asks for what cannot be yet, and is handed out nothing."""
        return int(self.poll(**{"from": 10**17})["lastIndex"])

    def path(self, rest: str) -> str:
        return f"/channel/{self.channel.name}/consumer/{self.name}/{rest}"


def make_channel(engine: Engine, **fields: Any) -> Channel:
    made = engine.web.post("/channels", json={"id": uuid.uuid4().hex[:12], "token": "open", **fields})
    assert made.status_code == 201, made.text
    return Channel(engine.web, made.json()["id"])


def register(channel: Channel, name: str = "k", **fields: Any) -> Poller:
    kind = {"id": name, "token": "mine", "type": "pull", "pullMode": "index"}
    made = channel.web.post(f"/channel/{channel.name}/consumers", json={**kind, **fields})
    assert made.status_code == 201, made.text
    return Poller(channel, name)


def publish(channel: Channel, number: int) -> None:
    """Fanned out when this returns."""
    places = [channel.publish(f"message {place}".encode()).headers["location"] for place in range(number)]
    wait_until(lambda: all(channel.read(place)["status"] == "DISPATCHED" for place in places), 30)


@pytest.fixture
def poller(engine: Engine) -> Poller:
    return register(make_channel(engine))


def test_the_cap_holds_back_an_ack_lets_one_more_through_and_one_may_be_seen_again(poller: Poller) -> None:
    publish(poller.channel, 12)

    first = poller.poll()
    assert [item["index"] for item in first["result"]] == list(range(1, 11))
    assert {name: first[name] for name in ("ackedIndex", "sentIndex", "lastIndex", "reason")} == {
        "ackedIndex": 0,
        "sentIndex": 10,
        "lastIndex": 12,
        "reason": None,
    }
    nothing = poller.poll()
    assert (nothing["result"], nothing["reason"]) == ([], "unacked_cap_reached")

    acked = poller.post("ack", {"index": 1})
    assert (acked.status_code, acked.json()) == (200, {"ackedIndex": 1, "sentIndex": 10, "result": "applied"})
    assert poller.take() == [11]
    assert poller.get("message-at/4").json() == first["result"][3]


def test_an_item_is_the_whole_message(poller: Poller) -> None:
    poller.channel.publish("café".encode(), Message_ID="text", Message_Priority="3")
    poller.channel.publish(b"\xff", Message_ID="bytes")
    wait_until(lambda: poller.last == 2, 30)
    text, binary = poller.poll()["result"]

    assert text.keys() == {"index", "id", "attempt", "priority", "message", "publishedAt"}
    assert (text["index"], text["attempt"], text["priority"]) == (1, 1, 3)
    assert text["message"] == {"messageId": "text", "payload": "café", "contentType": "text/plain", "headers": {}}
    assert (binary["message"]["messageId"], binary["message"]["payloadBase64"]) == ("bytes", "/w==")
    assert text["publishedAt"].endswith("Z")


def test_acks_out_of_order_give_the_right_index_and_again_nothing(poller: Poller) -> None:
    publish(poller.channel, 8)
    poller.poll()

    poller.post("ack", {"upTo": 4})
    seen = [poller.post("ack", {"index": index}).json()["ackedIndex"] for index in (7, 5, 6)]

    assert seen == [4, 5, 7]
    assert poller.post("ack", {"index": 7}).json() == {"ackedIndex": 7, "sentIndex": 8, "result": "duplicate"}
    refused = poller.post("ack", {"index": 9})
    assert (refused.status_code, refused.json()["code"]) == (409, "ack_above_sent")


def test_after_a_crash_a_seek_brings_the_messages_again(poller: Poller) -> None:
    publish(poller.channel, 5)
    before = poller.poll()["result"]

    assert poller.post("seek", {"index": 2}).json() == {"ackedIndex": 2, "sentIndex": 2}
    again = poller.poll()["result"]
    assert [(item["index"], item["attempt"]) for item in again] == [(3, 2), (4, 2), (5, 2)]
    sought = poller.post("seek", {"time": before[3]["publishedAt"]}).json()
    assert poller.take()[0] == sought["sentIndex"] + 1 == 4
    assert poller.post("seek", {"TIME": "2100-01-01T00:00:00Z"}).json() == {"ackedIndex": 5, "sentIndex": 5}


def test_it_says_why_there_is_nothing(poller: Poller) -> None:
    assert poller.poll()["reason"] == "caught_up"
    publish(poller.channel, 3)
    assert poller.poll(**{"from": 4})["reason"] == "beyond_window"
    poller.poll(limit=2)
    assert poller.poll(**{"from": 0, "limit": 2})["reason"] == "already_sent"
    poller.channel.act("pause")
    assert poller.poll()["reason"] == "paused"
    poller.channel.act("resume")
    assert poller.take() == [3]


@pytest.mark.parametrize("name", TOKENS)
def test_who_sends_no_token_is_told_which_is_missing(poller: Poller, name: str) -> None:
    """In the words that a broadcast hears."""
    refused = poller.get("poll", headers={other: token for other, token in TOKENS.items() if other != name})
    assert (refused.status_code, refused.json()["detail"]) == (403, f"Missing: {name}.")


def test_what_is_not_there_or_not_allowed_is_said_clearly(engine: Engine, poller: Poller) -> None:
    web, name = engine.web, poller.channel.name
    web.put(f"/channel/{name}/consumer/leases", json={"type": "pull", "token": "mine"})
    web.put(f"/channel/{name}/consumer/pushed", json={"callbackUrl": "http://127.0.0.1:9/", "token": "mine"})
    wrong = {**TOKENS, "X-Broker-Consumer-Token": "guess"}
    seen = [
        web.post("/channels", json={"id": name}),
        web.post(f"/channel/{name}/consumers", json={"id": "k", "type": "pull"}),
        web.post("/channel/none/consumers", json={"id": "k", "type": "pull"}),
        Poller(Channel(web, "none")).get("poll"),
        Poller(poller.channel, "nobody").get("poll"),
        Poller(poller.channel, "leases").get("poll"),
        Poller(poller.channel, "pushed").get("poll"),
        poller.get("poll", headers=wrong),
        poller.get("poll", headers={}),
        poller.post("poll", {}),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in seen] == [
        (409, "channel_exists"),
        (409, "consumer_exists"),
        (404, "unknown_channel"),
        (404, "unknown_channel"),
        (404, "unknown_consumer"),
        (409, "not_indexed"),
        (412, "not_pull"),
        (403, "wrong_token"),
        (403, "wrong_token"),
        (405, "method_not_allowed"),
    ]
    assert {answer.headers["content-type"] for answer in seen} == {"application/problem+json"}


BAD_QUERIES = ["from=-1", "from=x", "from=", "limit=0", "limit=1001", "limit=1e3", "limit=", "from=9999999999999999999"]
BAD_ACKS: list[Any] = [{}, [], 5, *({"index": one} for one in (-1, True, "1", 1.0)), {"up": 1}, {"upTo": None}]
BAD_SEEKS: list[Any] = [{}, *({"index": one} for one in (-1, 4, 10**30)), *({"time": one} for one in (5, "2026-01-01"))]
TWO_FIELDS = [("ack", {"index": 1, "upTo": 1}), ("seek", {"index": 0, "time": "2026-01-01T00:00:00Z"})]


def test_bad_numbers_and_documents_are_refused_and_change_nothing(poller: Poller) -> None:
    publish(poller.channel, 3)
    poller.poll(limit=1)
    asked = [poller.get(f"poll?{query}") for query in BAD_QUERIES] + [poller.get("message-at/one")]
    bad = [*(("ack", body) for body in BAD_ACKS), *(("seek", body) for body in BAD_SEEKS), *TWO_FIELDS]
    sent = [poller.post(door, body) for door, body in bad]

    assert {answer.status_code for answer in [*asked, *sent]} == {400}
    broken = poller.channel.web.post(poller.path("ack"), content=b"{", headers=TOKENS)
    form = poller.channel.web.post(poller.path("ack"), data={"index": "1"}, headers=TOKENS)
    assert (broken.status_code, form.status_code) == (400, 415)
    statuses = [poller.get(f"message-at/{index}").status_code for index in (0, 1, 2, 4)]
    assert statuses == [404, 200, 409, 404]
    assert poller.take() == [2, 3]


def test_an_expunged_message_is_gone_for_pollers_too(poller: Poller) -> None:
    publish(poller.channel, 2)
    first = poller.poll(limit=1)["result"][0]["message"]["messageId"]
    address = f"/channel/{poller.channel.name}/message/{first}"
    # It has the payload already: its acknowledgement is not waited for.
    assert poller.channel.web.delete(address).status_code == 204

    assert poller.get("message-at/1").status_code == 410
    poller.post("seek", {"index": 0})
    assert poller.take() == [2]


def test_many_polls_at_once_share_the_messages_without_a_gap_or_a_double(engine: Engine) -> None:
    poller = register(make_channel(engine), unackedCap=1000)
    publish(poller.channel, 60)

    with ThreadPoolExecutor(8) as threads:
        ranges = list(threads.map(lambda _: poller.take(limit=4), range(20)))

    assert sorted(itertools.chain.from_iterable(ranges)) == list(range(1, 61))


def test_the_state_shows_the_indexes(poller: Poller) -> None:
    publish(poller.channel, 3)
    poller.poll()
    poller.post("ack", {"upTo": 2})

    state = poller.channel.consumer["state"]
    assert (state["ackedIndex"], state["sentIndex"]) == (2, 3)


def test_what_pollers_have_open_counts_for_the_backlog(engine: Engine) -> None:
    poller = register(make_channel(engine, maxBacklog=4))
    publish(poller.channel, 4)
    poller.poll()

    refused = poller.channel.publish()
    assert (refused.status_code, refused.json()["code"]) == (429, "backlog_full")
    assert int(refused.headers["retry-after"]) >= 1
    poller.post("ack", {"upTo": 4})
    wait_until(lambda: poller.channel.publish().status_code == 201, 10)


def test_a_channel_s_rate_limit_says_that_it_was_that(engine: Engine) -> None:
    channel = make_channel(engine, rateLimit={"perSecond": 0.01, "burst": 1})

    assert channel.publish().status_code == 201
    assert channel.publish().json()["code"] == "channel_rate_limited"


def test_one_with_a_url_is_told_that_there_is_work_at_most_once_a_second(engine: Engine, receiver: Receiver) -> None:
    poller = register(make_channel(engine), callbackUrl=f"{receiver.url}/work", unackedCap=100)

    began = time.monotonic()
    for _ in range(20):
        poller.channel.publish()
    wait_until(lambda: bool(told(receiver)) and told(receiver)[-1]["count"] == 20, 30)

    assert told(receiver)[-1] == {
        "channel": poller.channel.name,
        "consumer": "k",
        "lowestUnackedIndex": 1,
        "count": 20,
    }
    assert len(told(receiver)) <= time.monotonic() - began + 1
    poller.poll()
    poller.post("ack", {"upTo": 20})
    poller.channel.publish()
    wait_until(lambda: told(receiver)[-1]["lowestUnackedIndex"] == 21, 30)
    assert told(receiver)[-1]["count"] == 1


def told(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(delivery.body) for delivery in list(receiver.deliveries)]
