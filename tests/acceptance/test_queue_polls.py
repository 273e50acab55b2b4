"""Polling and acknowledging on a running broker."""

import uuid
from typing import Any

import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.polled_queue import Queue, named, refused, subscribed
from tests.acceptance.servers import wait_until


@pytest.fixture
def queue(engine: Engine) -> Queue:
    return subscribed(engine.web)


def test_the_cap_holds_back_and_an_acknowledgement_lets_one_more_through(queue: Queue) -> None:
    for number in range(12):
        queue.publish(number)

    assert queue.take(message_id=0, fetch_count=5) == [1, 2, 3, 4, 5]
    assert queue.take(message_id=5, fetch_count=50) == [6, 7, 8, 9, 10]
    held = queue.poll().json()
    assert (held["messages"], held["reason"]) == ([], "unacked_cap_reached")
    assert (held["acked_index"], held["sent_index"], held["last_index"]) == (0, 10, 12)
    assert queue.ack(1).json()["acked_index"] == 1
    assert queue.take() == [11]


def test_messages_that_were_handed_out_come_again_when_they_are_asked_for(queue: Queue) -> None:
    for number in range(8):
        queue.publish(number)
    queue.poll(fetch_count=6)

    again = queue.poll(message_id=3, fetch_count=1).json()

    assert ([message["id"] for message in again["messages"]], again["reason"]) == ([4], "already_sent")
    assert queue.take(message_id=0, fetch_count=6) == [1, 2, 3, 4, 5, 6]
    # What reaches beyond them is a poll like any other.
    assert queue.take(message_id=4, fetch_count=3) == [7]
    assert queue.poll(message_id=99).json()["reason"] == "beyond_window"
    assert queue.take() == [8]


def test_nobody_polls_a_queue_that_is_not_there(engine: Engine) -> None:
    assert refused(named(engine.web).poll(), 404) == "There is no queue with this name."


def test_nobody_polls_a_queue_without_being_registered(engine: Engine, queue: Queue) -> None:
    stranger = uuid.uuid4().hex
    assert refused(queue.poll(stranger), 404) == "This subscriber is not registered for this queue."
    assert refused(queue.post("subscribe/poll", subscriber_id=stranger), 404)
    engine.web.put(f"/channel/{queue.name}/consumer/leases", json={"type": "pull"})
    assert refused(queue.poll("leases"), 409)


def test_a_subscriber_of_one_queue_need_not_name_it(queue: Queue) -> None:
    own = uuid.uuid4().hex
    queue.register(own)
    queue.publish()
    other = named(queue.web)
    other.create()

    polled = queue.post("subscribe/poll", subscriber_id=own, message_id=0, fetch_count=5)
    assert [message["id"] for message in polled.json()["messages"]] == [1]
    done = queue.post("subscribe/message/ack", subscriber_id=own, message_id=1).json()
    assert (done["queue_name"], done["acked_index"]) == (queue.name, 1)
    other.register(own)
    assert refused(queue.post("subscribe/poll", subscriber_id=own), 409).endswith("by queue_name.")


def test_two_subscribers_go_at_their_own_pace_and_one_may_begin_at_the_beginning(queue: Queue) -> None:
    queue.publish()
    queue.publish()
    queue.register("late")
    queue.register("early", start_from=0)
    queue.publish()

    assert [queue.take(name) for name in ("sub-1", "late", "early")] == [[1, 2, 3], [3], [1, 2, 3]]


def test_polls_and_acknowledgements_that_are_not_right_change_nothing(queue: Queue) -> None:
    queue.publish()
    bad_polls: list[dict[str, Any]] = [
        {"message_id": -1},
        {"message_id": "1"},
        {"message_id": 10**18},
        {"message_id": True},
        {"fetch_count": 0},
        {"fetch_count": 1001},
        {"fetch_count": 1.5},
        {"more": 1},
    ]
    for fields in bad_polls:
        assert refused(queue.poll(**fields), 400), fields
    assert refused(queue.post("subscribe/poll", queue_name=queue.name), 400) == "subscriber_id: This field is needed."
    for index in (0, -1, 10**18):
        assert refused(queue.ack(index), 400)
    assert refused(queue.ack(1), 409) == "This index was not handed out yet: it cannot be acknowledged."
    assert queue.take() == [1]
    assert refused(queue.ack(2), 409)
    assert refused(queue.ack(1, "nobody"), 404)
    assert refused(named(queue.web).ack(1), 404)


def test_an_acknowledgement_may_be_repeated_and_come_in_any_order(queue: Queue) -> None:
    for number in range(4):
        queue.publish(number)
    queue.poll()

    assert [queue.ack(index).json()["acked_index"] for index in (2, 4, 2, 1, 3)] == [0, 0, 0, 2, 4]


def test_a_message_that_came_by_another_door_is_shown_too(engine: Engine) -> None:
    queue = named(engine.web)
    engine.web.put(f"/channel/{queue.name}", json={"token": "open"})
    queue.register()
    for body, kind in ((b"hello", "text/plain"), (b"\xff", "image/png"), (b'{"a":1}', "application/json")):
        tokens = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
        path = f"/channel/{queue.name}/broadcast"
        assert engine.web.post(path, content=body, headers={**tokens, "Content-Type": kind}).status_code == 201
    wait_until(lambda: queue.poll(message_id=10**17).json()["last_index"] == 3, 30)

    shown = [{name: one[name] for name in one if name.startswith("value")} for one in queue.poll().json()["messages"]]

    assert shown == [{"value": "hello"}, {"value_base64": "/w=="}, {"value": {"a": 1}}]
