"""The polled queue on a running broker: each of its processes, with each way to go wrong."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.acceptance.engine import Engine
from tests.acceptance.polled_queue import Queue, named, refused, subscribed
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until


@pytest.fixture
def queue(engine: Engine) -> Queue:
    return subscribed(engine.web)


# CreateQueue


def test_a_queue_is_created_and_is_a_channel(engine: Engine) -> None:
    queue = named(engine.web)

    made = queue.create()

    assert (made.status_code, made.json()) == (200, {"name": queue.name})
    assert engine.web.get(f"/channel/{queue.name}").status_code == 200


def test_a_queue_that_exists_is_not_created_again(queue: Queue) -> None:
    assert refused(queue.create(), 409) == "There is a queue with this name."


def test_a_queue_needs_a_name_that_is_an_id(queue: Queue) -> None:
    names: list[Any] = ["", "a b", "a/b", "a\0", "x" * 256, 5, None, True, [], {}]
    for name in names:
        assert refused(queue.post("queue/create", name=name), 400).startswith("name: ")
    assert refused(queue.post("queue/create"), 400) == "name: This field is needed."
    lone = queue.web.post(
        "/v1/queue/create", content=rb'{"name": "\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert refused(lone, 400).startswith("name: ")


# RegisterSubscriber


def test_a_subscriber_is_registered_and_is_a_consumer(engine: Engine, queue: Queue) -> None:
    done = queue.register("sub-2", callback_url="http://127.0.0.1:9/told", unacked_cap=3)

    assert (done.status_code, done.json()) == (200, {"subscriber_id": "sub-2", "queue_name": queue.name})
    consumer = engine.web.get(f"/channel/{queue.name}/consumer/sub-2").json()
    shown = {name: consumer[name] for name in ("type", "pullMode", "unackedCap", "callbackUrl")}
    assert shown == {"type": "pull", "pullMode": "index", "unackedCap": 3, "callbackUrl": "http://127.0.0.1:9/told"}


def test_nobody_registers_for_a_queue_that_is_not_there(engine: Engine) -> None:
    assert refused(named(engine.web).register(), 404) == "There is no queue with this name."


def test_nobody_registers_twice(queue: Queue) -> None:
    assert refused(queue.register(callback_url=""), 409) == "This subscriber is registered for this queue."
    assert queue.register("sub-2", callback_url="").status_code == 200


BAD_SUBSCRIBERS: list[tuple[dict[str, Any], str]] = [
    ({"subscriber_id": "a b"}, "subscriber_id"),
    ({"subscriber_id": None}, "subscriber_id"),
    ({"queue_name": "a b"}, "queue_name"),
    ({"callback_url": "ftp://x"}, "callback_url"),
    ({"callback_url": "http://169.254.169.254/"}, "callback_url"),
    ({"callback_url": 5}, "callback_url"),
    ({"unacked_cap": 0}, "unacked_cap"),
    ({"unacked_cap": "10"}, "unacked_cap"),
    ({"start_from": -1}, "start_from"),
    ({"start_from": "soon"}, "start_from"),
    ({"more": 1}, "more"),
]


def test_a_subscriber_that_is_not_right_is_not_registered(queue: Queue) -> None:
    for fields, name in BAD_SUBSCRIBERS:
        asked = {"queue_name": queue.name, "subscriber_id": "sub-2", **fields}
        assert refused(queue.post("subscribe/register", **asked), 400).startswith(f"{name}: "), fields
    assert refused(queue.register("sub-2", start_from=1), 400)
    assert refused(queue.poll("sub-2"), 404)


# PublishMessage


def test_a_message_is_published_with_its_index_and_can_be_polled_at_once(queue: Queue) -> None:
    for index in (1, 2, 3):
        done = queue.publish({"number": index})
        message = {"id": index, "metadata": {"queue_name": queue.name}, "value": {"number": index}}
        assert (done.status_code, done.json()) == (200, message)
        assert queue.poll().json()["messages"] == [message]


def test_nothing_is_published_to_a_queue_that_is_not_there(engine: Engine) -> None:
    assert refused(named(engine.web).publish(), 404) == "There is no queue with this name."


def test_what_is_no_message_is_refused_and_not_stored(queue: Queue) -> None:
    for body in (b"", b"{", b"\xff", b"[]", b'{"value": 1}', json.dumps({"queue_name": queue.name}).encode()):
        answer = queue.web.post("/v1/publish", content=body, headers={"Content-Type": "application/json"})
        assert refused(answer, 400), body
    assert queue.poll().json()["last_index"] == 0


def test_a_value_comes_out_as_it_went_in(queue: Queue) -> None:
    for value in ("1.10", "12345678901234567890.5", "1E400", r'"\ud800\u0000"', '"é😀"', "null", '[{"a" : 1}]'):
        body = f'{{"metadata": {{"queue_name": "{queue.name}"}}, "value": {value}}}'.encode()
        done = queue.web.post("/v1/publish", content=body, headers={"Content-Type": "application/json"})
        assert f'"value":{value}}}'.encode() in done.content
        assert f'"value":{value}}}'.encode() in queue.poll().content


def test_many_publishers_get_indexes_without_a_gap_or_a_double(queue: Queue) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: queue.publish(number).json()["id"], range(60)))

    assert sorted(found) == list(range(1, 61))


def test_subscribers_with_a_url_are_told_after_a_publish(queue: Queue, receiver: Receiver) -> None:
    queue.register("told", callback_url=f"{receiver.url}/told")

    queue.publish()
    queue.publish()

    def told() -> list[Any]:
        return [json.loads(delivery.body) for delivery in list(receiver.deliveries)]

    expected = {"channel": queue.name, "consumer": "told", "lowestUnackedIndex": 1, "count": 2}
    wait_until(lambda: expected in told(), 30)
    assert queue.take("told") == [1, 2]


def test_a_queue_has_the_limits_of_its_channel(engine: Engine) -> None:
    slow, small = named(engine.web), named(engine.web)
    engine.web.put(f"/channel/{slow.name}", json={"rateLimit": {"perSecond": 0.01, "burst": 1}})
    engine.web.put(f"/channel/{small.name}", json={"maxBacklog": 1})
    small.register()

    for queue in (slow, small):
        assert queue.publish().status_code == 200
        answer = queue.publish()
        assert refused(answer, 429).endswith("see Retry-After.")
        assert int(answer.headers["retry-after"]) >= 1


# What all of them have in common


def test_a_queue_that_was_deleted_is_gone_and_its_name_is_free(engine: Engine, queue: Queue) -> None:
    queue.publish()
    delete(engine, queue)

    assert refused(queue.poll(), 404)
    assert refused(queue.publish(), 404)
    assert refused(queue.register("sub-2"), 404)
    assert queue.create().status_code == 200
    assert queue.register().status_code == 200
    assert queue.publish().json()["id"] == 1


def delete(engine: Engine, queue: Queue) -> None:
    path = f"/channel/{queue.name}"
    assert engine.web.delete(path, headers={"If-Match": engine.web.get(path).headers["ETag"]}).status_code == 204


def test_what_one_server_deletes_and_makes_again_is_known_to_the_other_at_once(engine: Engine, queue: Queue) -> None:
    beside = Queue(engine.broker.serve(), queue.name)
    acts: list[Callable[[], httpx.Response]] = [beside.publish, beside.poll, lambda: beside.ack(1)]
    for act in acts:
        for known in acts:
            assert known().status_code == 200
        delete(engine, queue)
        assert (queue.create().status_code, queue.register().status_code) == (200, 200)
        queue.publish()
        queue.poll()

        assert act().status_code == 200


def test_what_one_server_makes_is_known_to_the_other_at_once(engine: Engine) -> None:
    other = engine.broker.serve()
    queue = named(engine.web)
    beside = Queue(other, queue.name)
    assert refused(beside.publish(), 404)

    queue.create()
    assert beside.publish().status_code == 200
    assert refused(beside.poll(), 404)
    queue.register(start_from=0)
    assert beside.take() == [1]


PATHS = ("queue/create", "publish", "subscribe/register", "subscribe/poll", "subscribe/message/ack")


def test_without_an_api_key_nothing_opens(engine: Engine) -> None:
    for headers in ({}, {"Authorization": "Bearer guess"}, {"Authorization": "Basic x"}):
        for path in PATHS:
            answer = httpx.post(f"{engine.web.base_url}/v1/{path}", json={}, headers=headers)
            assert refused(answer, 401).startswith("Send an API key")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_guesses_are_paced_and_an_open_door_asks_for_nothing(engine: Engine) -> None:
    paced = engine.broker.serve(REFUSALS_PER_MINUTE="1", REDIS_URL=engine.redis_url)
    guesses: list[httpx.Response] = []

    def is_paced() -> bool:
        guesses.append(httpx.post(f"{paced.base_url}/v1/publish", json={}))
        return guesses[-1].status_code == 429

    # Where Redis is slow to answer, guesses are let through for a while.
    wait_until(is_paced, 60)
    assert refused(guesses[-1], 429).endswith("see Retry-After.")

    open_door = engine.broker.serve(OPEN_DOORS="queue")
    stranger = httpx.Client(base_url=open_door.base_url)
    assert named(stranger).create().status_code == 200


def test_method_media_type_size_and_length_are_refused_in_the_same_words(engine: Engine, queue: Queue) -> None:
    web = engine.web
    for path in PATHS:
        wrong = web.get(f"/v1/{path}")
        assert refused(wrong, 405)
        assert wrong.headers["allow"] == "POST"
        form = web.post(f"/v1/{path}", data={"name": "x"})
        assert refused(form, 415) == "The body must be JSON: application/json."
        large = web.post(f"/v1/{path}", content=b" " * (1024 * 1024 + 1), headers={"Content-Type": "application/json"})
        assert refused(large, 413)
        assert refused(web.post(f"/v1/{path}?{'x' * 9000}", json={}), 414)
    assert queue.poll().json()["last_index"] == 0
