"""What stops deliveries, and what starts them again, with real workers."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from standardwebhooks import Webhook

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Delivery, Receiver
from tests.acceptance.servers import wait_until

NO_RETRY_SOON = {"retries": 5, "initialSeconds": 600, "ceilingSeconds": 600}


def break_it(engine: Engine, receiver: Receiver) -> tuple[Channel, list[str]]:
    """Sixty jobs fail: more than enough to open the breaker."""
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy=NO_RETRY_SOON)
    locations = [channel.publish().headers["Location"] for _ in range(60)]
    wait_until(lambda: channel.consumer["state"]["status"] == "breaker_open", 30)
    # A failure that is settled later would keep it open for longer.
    wait_until(lambda: engine.web.get("/job-status").json()["counts"][channel.name]["k"].keys() == {"QUEUED"}, 15)
    return channel, locations


@contextmanager
def database(engine: Engine) -> Iterator[psycopg.Connection]:
    with psycopg.connect(engine.broker.database_url, autocommit=True) as connection:
        yield connection


def end_the_wait(engine: Engine, channel: Channel) -> None:
    """As if the breaker's half minute were over."""
    with database(engine) as connection:
        connection.execute(
            "UPDATE consumer_state s SET breaker_until = now() FROM consumer k JOIN channel c ON c.id = k.channel_id"
            " WHERE s.consumer_id = k.id AND c.public_id = %s",
            [channel.name],
        )


def test_a_breaker_opens_and_jobs_wait_without_using_their_budget(engine: Engine, receiver: Receiver) -> None:
    channel, _ = break_it(engine, receiver)
    tried = len(receiver.deliveries)

    late = channel.publish().headers["Location"]

    wait_until(lambda: channel.statuses(late) == ["QUEUED"], 15)
    assert channel.read(late)["jobs"][0]["failures"] == 0
    assert len(receiver.deliveries) == tried
    assert channel.consumer["state"]["failuresInARow"] >= 50


def test_one_probe_that_succeeds_closes_the_breaker(engine: Engine, receiver: Receiver) -> None:
    channel, _ = break_it(engine, receiver)
    late = channel.publish().headers["Location"]
    receiver.answer = lambda _delivery: 200

    end_the_wait(engine, channel)

    wait_until(lambda: channel.statuses(late) == ["DELIVERED"], 30)
    wait_until(lambda: channel.consumer["state"]["status"] == "delivering", 15)
    assert channel.consumer["state"]["failuresInARow"] == 0


def test_a_probe_that_fails_opens_it_again_and_costs_its_job_nothing(engine: Engine, receiver: Receiver) -> None:
    channel, _ = break_it(engine, receiver)
    late = channel.publish(Message_Priority="9").headers["Location"]
    wait_until(lambda: channel.statuses(late) == ["QUEUED"], 15)

    end_the_wait(engine, channel)

    wait_until(lambda: bool(channel.read(late)["jobs"][0]["attempts"]), 30)
    [job] = channel.read(late)["jobs"]
    assert (job["failures"], job["status"]) == (0, "QUEUED")
    wait_until(lambda: channel.consumer["state"]["status"] == "breaker_open", 15)


def test_a_breaker_that_is_off_never_opens(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy={"retries": 0})
    channel.change_consumer(circuitBreaker=False)

    locations = [channel.publish().headers["Location"] for _ in range(60)]

    wait_until(lambda: all(channel.statuses(location) == ["DEAD"] for location in locations), 30)
    assert channel.consumer["state"]["status"] == "delivering"


@pytest.mark.parametrize("on", ["", "/consumer/k"])
def test_nothing_is_sent_or_lost_while_paused(engine: Engine, receiver: Receiver, on: str) -> None:
    channel = engine.channel(receiver)
    assert channel.act("pause", on=on)["state"]["status"] == "paused"

    locations = [channel.publish().headers["Location"] for _ in range(5)]
    wait_until(lambda: all(channel.statuses(location) == ["QUEUED"] for location in locations), 15)
    assert receiver.deliveries == []

    assert channel.act("resume", on=on)["state"]["status"] == "delivering"
    wait_until(lambda: all(channel.statuses(location) == ["DELIVERED"] for location in locations), 15)


def test_after_a_410_open_jobs_wait(engine: Engine, receiver: Receiver) -> None:
    """Only what was under way ends as gone."""
    receiver.answer = lambda _delivery: 410
    channel = engine.channel(receiver)
    channel.act("pause")
    locations = [channel.publish().headers["Location"] for _ in range(200)]
    wait_until(lambda: all(channel.statuses(location) == ["QUEUED"] for location in locations), 30)

    channel.act("resume")

    wait_until(lambda: channel.consumer["state"]["status"] == "disabled", 15)
    wait_until(lambda: "INFLIGHT" not in engine.web.get("/job-status").json()["counts"][channel.name]["k"], 15)
    counts = engine.web.get("/job-status").json()["counts"][channel.name]["k"]
    assert counts["QUEUED"] >= 100


def test_a_disabled_consumer_that_is_resumed_gets_messages_again(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 410
    channel = engine.channel(receiver)
    channel.publish()
    wait_until(lambda: channel.consumer["state"]["status"] == "disabled", 15)
    receiver.answer = lambda _delivery: 200

    channel.act("resume")

    location = channel.publish().headers["Location"]
    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 15)


def test_after_a_rotation_both_secrets_sign(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    old = channel.consumer["signingSecret"]

    rotated = channel.act("rotate-secret", overlapSeconds=600)

    assert rotated["signingSecret"] != old == rotated["previousSigningSecret"]
    channel.publish(b"{}", Message_ID="both")
    wait_until(lambda: bool(receiver.of("both")), 15)
    [delivery] = receiver.of("both")
    for secret in (old, rotated["signingSecret"]):
        assert Webhook(secret).verify(delivery.body.decode(), delivery.headers) == {}


def test_without_overlap_the_old_secret_signs_no_more(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)

    rotated = channel.act("rotate-secret", overlapSeconds=0)

    assert rotated["previousSigningSecret"] is None
    channel.publish(b"{}", Message_ID="one")
    wait_until(lambda: bool(receiver.of("one")), 15)
    assert len(receiver.of("one")[0].headers["webhook-signature"].split()) == 1


def test_jobs_of_a_deleted_consumer_are_dead(engine: Engine, receiver: Receiver) -> None:
    """Ready ones and those that wait for a retry."""
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy=NO_RETRY_SOON)
    waiting = channel.publish().headers["Location"]
    wait_until(lambda: bool(channel.read(waiting)["jobs"] and channel.read(waiting)["jobs"][0]["failures"]), 15)
    channel.act("pause")
    ready = channel.publish().headers["Location"]
    wait_until(lambda: channel.statuses(ready) == ["QUEUED"], 15)

    path = f"/channel/{channel.name}/consumer/k"
    etag = engine.web.get(path).headers["ETag"]
    assert engine.web.delete(path, headers={"If-Match": etag}).status_code == 204

    for location in (waiting, ready):
        wait_until(lambda: [job["reason"] for job in channel.read(location)["jobs"]] == ["consumer_gone"], 15)  # noqa: B023


def test_a_job_older_than_its_channel_allows_is_dead(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver, maxAgeSeconds=1)
    channel.act("pause")

    location = channel.publish().headers["Location"]

    wait_until(lambda: channel.statuses(location) == ["DEAD"], 30)
    [job] = channel.read(location)["jobs"]
    assert (job["reason"], job["failures"], receiver.deliveries) == ("expired", 0, [])


def test_a_rate_limit_spaces_deliveries(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    channel.change_consumer(rateLimit={"perSecond": 4, "burst": 1})

    began = time.time()
    for _ in range(9):
        channel.publish()

    wait_until(lambda: len(receiver.deliveries) == 9, 30)
    # The first goes at once; then eight waits of a quarter second, however late each is noticed.
    assert max(delivery.at for delivery in receiver.deliveries) - began >= 1.99


def test_no_more_tries_at_once_than_allowed(engine: Engine, receiver: Receiver) -> None:
    gate, most = threading.Event(), []
    busy = [0]
    lock = threading.Lock()

    def behind_the_gate(_delivery: Delivery) -> int:
        with lock:
            busy[0] += 1
            most.append(busy[0])
        gate.wait(30)
        with lock:
            busy[0] -= 1
        return 200

    receiver.answer = behind_the_gate
    channel = engine.channel(receiver)
    channel.change_consumer(maxInFlight=3)
    locations = [channel.publish().headers["Location"] for _ in range(12)]
    wait_until(lambda: len(receiver.deliveries) == 3, 15)
    gate.set()

    wait_until(lambda: all(channel.statuses(location) == ["DELIVERED"] for location in locations), 30)
    assert max(most) <= 3
