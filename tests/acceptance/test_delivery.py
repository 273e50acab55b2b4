"""From a broadcast to a consumer and back to the row, with real workers."""

import itertools
import signal
import threading

import psycopg
import pytest
import redis
from standardwebhooks import Webhook

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Delivery, Receiver
from tests.acceptance.servers import wait_until


def test_a_message_arrives_byte_for_byte_and_signed(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    payload = bytes(range(256)) * 4

    answer = engine.web.post(
        f"/channel/{channel.name}/broadcast",
        content=payload,
        headers={
            "X-Broker-Channel-Token": "open",
            "X-Broker-Producer-ID": "shop",
            "X-Broker-Producer-Token": "sell",
            "X-Broker-Message-ID": "m-1",
            "X-Broker-Message-Priority": "7",
            "X-Broker-Metadata-Headers": "X-Trace",
            "X-Trace": "abc",
        },
    )

    assert (answer.status_code, answer.headers["Location"]) == (201, f"/channel/{channel.name}/message/m-1")
    wait_until(lambda: bool(receiver.of("m-1")), 15)
    [delivery] = receiver.of("m-1")
    assert (delivery.body, delivery.path) == (payload, "/hook")
    expected = {
        "content-type": "application/octet-stream",
        "x-broker-channel-id": channel.name,
        "x-broker-consumer-id": "k",
        "x-broker-consumer-token": "mine",
        "x-broker-message-priority": "7",
        "x-broker-attempt": "1",
        "x-broker-metadata-headers": "X-Trace",
        "x-trace": "abc",
        "webhook-id": "m-1",
    }
    assert expected.items() <= delivery.headers.items()


def test_a_consumer_verifies_the_signature(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    channel.publish(b'{"order": 1}', Message_ID="signed")
    wait_until(lambda: bool(receiver.of("signed")), 15)
    secret = engine.web.get(f"/channel/{channel.name}/consumer/k").json()["signingSecret"]

    [delivery] = receiver.of("signed")
    assert Webhook(secret).verify(delivery.body.decode(), delivery.headers) == {"order": 1}


def test_the_row_says_what_happened(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    location = channel.publish(b"caf\xc3\xa9").headers["Location"]

    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 15)
    message = channel.read(location)

    assert (message["payload"], message["status"], message["producedBy"]) == ("café", "DISPATCHED", "shop")
    [job] = message["jobs"]
    assert (job["failures"], job["listenerEndpoint"]) == (0, f"{receiver.url}/hook")
    [attempt] = job["attempts"]
    assert (attempt["attempt"], attempt["statusCode"], attempt["reason"], attempt["answer"]) == (1, 200, None, "heard")
    assert engine.web.get(f"/channel/{channel.name}/messages?status=101").json()["result"] == [location]
    assert engine.web.get(f"/channel/{channel.name}/messages?status=ACKNOWLEDGED").json()["result"] == []
    assert engine.web.get("/job-status").json()["counts"][channel.name] == {"k": {"DELIVERED": 1}}


def test_the_same_id_twice_is_409_and_says_whether_it_was_the_same(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    first = channel.publish(b"one", Message_ID="twice")

    again, other = channel.publish(b"one", Message_ID="twice"), channel.publish(b"two", Message_ID="twice")

    assert (again.status_code, other.status_code) == (409, 409)
    assert again.headers["Location"] == first.headers["Location"]
    assert (again.json()["samePayload"], other.json()["samePayload"]) == (True, False)
    wait_until(lambda: bool(receiver.of("twice")), 15)
    assert [delivery.body for delivery in receiver.of("twice")] == [b"one"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"X-Broker-Channel-Token": "wrong"}, 403, "wrong_token"),
        ({"X-Broker-Producer-ID": "nobody"}, 401, "unknown_producer"),
        ({"X-Broker-Producer-Token": "wrong"}, 403, "wrong_token"),
        ({"X-Broker-Message-Priority": "high"}, 400, "invalid_priority"),
        ({"X-Broker-Message-ID": "a b"}, 400, "invalid_message_id"),
        ({"X-Broker-Metadata-Headers": "Host"}, 400, "reserved_header"),
        ({"X-Broker-Channel-Token": "wrong", "X-Broker-Message-Priority": "high"}, 403, "wrong_token"),
    ],
)
def test_a_broadcast_that_is_refused_stores_nothing(
    engine: Engine, receiver: Receiver, change: dict[str, str], status: int, code: str
) -> None:
    channel = engine.channel(receiver)
    right = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}

    answer = engine.web.post(f"/channel/{channel.name}/broadcast", content=b"x", headers={**right, **change})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert engine.web.get(f"/channel/{channel.name}/messages").json()["result"] == []


@pytest.mark.parametrize("door", ["broadcast", "broadcast/batch"])
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ((), (403, "Missing: X-Broker-Channel-Token, X-Broker-Producer-ID, X-Broker-Producer-Token.")),
        (("X-Broker-Producer-ID", "X-Broker-Producer-Token"), (403, "Missing: X-Broker-Channel-Token.")),
        (("X-Broker-Channel-Token",), (401, "Missing: X-Broker-Producer-ID, X-Broker-Producer-Token.")),
        (("X-Broker-Channel-Token", "X-Broker-Producer-ID"), (403, "Missing: X-Broker-Producer-Token.")),
    ],
)
def test_a_broadcast_without_credentials_is_told_which_headers_to_send(
    engine: Engine, receiver: Receiver, door: str, sent: tuple[str, ...], answer: tuple[int, str]
) -> None:
    channel = engine.channel(receiver)
    right = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
    headers = {name: right[name] for name in sent}

    refused = engine.web.post(f"/channel/{channel.name}/{door}", content=b"x", headers=headers)

    assert (refused.status_code, refused.json()["detail"]) == answer


def test_a_token_that_is_wrong_is_named_but_not_repeated(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)

    answer = channel.publish(Channel_Token="guessed-by-me")

    assert answer.json()["detail"] == "X-Broker-Channel-Token does not open this."
    assert "guessed-by-me" not in answer.text


def test_an_unknown_channel_an_empty_body_and_another_method_are_refused(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)

    assert Channel(engine.web, "nowhere").publish().json()["code"] == "unknown_channel"
    assert channel.publish(b"").json()["code"] == "empty_payload"
    assert engine.web.get(f"/channel/{channel.name}/broadcast").status_code == 405


def test_a_consumer_that_fails_four_times_is_tried_at_0_1_3_and_7_seconds(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver)

    location = channel.publish(Message_ID="failing").headers["Location"]

    wait_until(lambda: channel.statuses(location) == ["DEAD"], 30)
    times = [delivery.at for delivery in receiver.of("failing")]
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    # The contract's waits; upper bounds are left to the benchmark.
    assert [wait >= least for wait, least in zip(waits, (0.99, 1.99, 3.99), strict=True)] == [True, True, True]
    [job] = channel.read(location)["jobs"]
    assert (job["reason"], job["failures"]) == ("http_5xx", 4)
    assert [attempt["attempt"] for attempt in job["attempts"]] == [1, 2, 3, 4]


def test_a_consumer_that_recovers_gets_its_message(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 503 if len(receiver.of("late")) < 2 else 200
    channel = engine.channel(receiver)

    location = channel.publish(Message_ID="late").headers["Location"]

    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 15)
    assert [attempt["statusCode"] for attempt in channel.read(location)["jobs"][0]["attempts"]] == [503, 200]


def test_an_answer_that_makes_no_sense_takes_no_slot_for_good(engine: Engine, receiver: Receiver) -> None:
    receiver.headers = {"Retry-After": "\u00b2"}
    receiver.answer = lambda delivery: 503 if len(receiver.of(delivery.message_id)) == 1 else 200
    channel = engine.channel(receiver)

    locations = [channel.publish().headers["Location"] for _ in range(25)]

    for location in locations:
        wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 30)  # noqa: B023


def test_410_ends_the_job_and_disables_the_consumer(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 410
    channel = engine.channel(receiver)
    location = channel.publish().headers["Location"]
    wait_until(lambda: [job["reason"] for job in channel.read(location)["jobs"]] == ["gone"], 15)

    second = channel.publish().headers["Location"]

    wait_until(lambda: channel.read(second)["status"] == "DISPATCHED", 15)
    assert channel.read(second)["jobs"] == []
    assert len(receiver.deliveries) == 1
    state = channel.consumer["state"]
    assert (state["status"], state["disabledReason"]) == ("disabled", "gone")
    assert state["disabledAt"]


def test_a_redirect_is_not_followed(engine: Engine, receiver: Receiver) -> None:
    receiver.answer, receiver.headers = (lambda _delivery: 302), {"Location": f"{receiver.url}/elsewhere"}
    channel = engine.channel(receiver, retryPolicy={"retries": 0})

    location = channel.publish().headers["Location"]

    wait_until(lambda: [job["reason"] for job in channel.read(location)["jobs"]] == ["http_3xx"], 15)
    assert [delivery.path for delivery in receiver.deliveries] == ["/hook"]


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://10.0.0.1:9/", "http://[fe80::1]/"])
def test_a_callback_into_our_own_network_is_never_connected_to(engine: Engine, receiver: Receiver, url: str) -> None:
    """Refused where it is registered, and, should it stand in the row all the same, where it is connected to."""
    channel = engine.channel(receiver, retryPolicy={"retries": 0})
    path = f"/channel/{channel.name}/consumer/k"
    known = {"If-Match": engine.web.get(path).headers["ETag"]}
    assert engine.web.put(path, json={"callbackUrl": url}, headers=known).json()["code"] == "egress_denied"
    with psycopg.connect(engine.broker.database_url) as connection:
        connection.execute(
            "UPDATE consumer SET callback_url = %s FROM channel"
            " WHERE channel.id = consumer.channel_id AND channel.public_id = %s",
            (url, channel.name),
        )

    location = channel.publish().headers["Location"]

    wait_until(lambda: [job["reason"] for job in channel.read(location)["jobs"]] == ["egress_denied"], 15)


def test_priority_first_then_the_oldest(engine: Engine, receiver: Receiver) -> None:
    gate = threading.Event()

    def behind_the_gate(_delivery: Delivery) -> int:
        gate.wait(30)
        return 200

    receiver.answer = behind_the_gate
    channel = engine.channel(receiver)
    channel.change_consumer(maxInFlight=1)
    channel.publish(Message_ID="first")
    wait_until(lambda: bool(receiver.of("first")), 15)

    waiting = [
        channel.publish(Message_ID=name, Message_Priority=priority).headers["Location"]
        for name, priority in (("low-1", "0"), ("low-2", "0"), ("high", "5"))
    ]
    wait_until(lambda: all(channel.read(location)["jobs"] for location in waiting), 15)
    gate.set()

    wait_until(lambda: len(receiver.deliveries) == 4, 20)
    assert [delivery.message_id for delivery in receiver.deliveries] == ["first", "high", "low-1", "low-2"]


@pytest.mark.parametrize(("blow", "lost"), [(signal.SIGTERM, []), (signal.SIGKILL, ["worker_lost"])])
def test_a_worker_that_ends_under_a_job_costs_no_failure(
    engine: Engine, receiver: Receiver, blow: signal.Signals, lost: list[str]
) -> None:
    gate = threading.Event()

    def hang_the_first(_delivery: Delivery) -> int:
        if len(receiver.deliveries) == 1:
            gate.wait(60)
        return 200

    receiver.answer = hang_the_first
    channel = engine.channel(receiver)
    # The lease of a killed worker is this and 15 seconds.
    channel.change_consumer(timeoutSeconds=2 if blow is signal.SIGKILL else 60)
    location = channel.publish().headers["Location"]
    wait_until(lambda: len(receiver.deliveries) == 1, 15)

    engine.end_delivery_worker(blow)
    engine.start_delivery_worker()

    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 60)
    gate.set()
    [job] = channel.read(location)["jobs"]
    assert job["failures"] == 0
    assert [attempt["reason"] for attempt in job["attempts"]] == [*lost, None]


def test_nothing_is_lost_when_redis_forgets_everything(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    with redis.Redis.from_url(engine.redis_url) as client:
        ids = []
        for number in range(100):
            ids.append(f"kept-{number}")
            assert channel.publish(Message_ID=ids[-1]).status_code == 201
            if number % 10 == 0:
                client.flushdb()

    wait_until(lambda: {delivery.message_id for delivery in receiver.deliveries} >= set(ids), 60)
