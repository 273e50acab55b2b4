"""Subscriptions by stream: Dapr's own Python SDK receives, answers, is cut off, and comes back."""

import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from dapr.clients.grpc._response import TopicEventResponse
from dapr.clients.retry import RetryPolicy
from dapr.common.pubsub.subscription import StreamReconnectError, SubscriptionMessage

from tests.acceptance.dapr_door import WAIT_SECONDS, Door, following, new_topic, opened, received
from tests.acceptance.engine import Engine
from tests.acceptance.servers import wait_until

LETTERS = (
    "SELECT d.reason FROM dead_letter d JOIN channel c ON c.id = d.channel_id WHERE c.public_id = %s ORDER BY d.id"
)
HISTORY = (
    "SELECT a.attempt, a.reason, a.error FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id"
    " JOIN message m ON m.id = j.message_id JOIN channel c ON c.id = m.channel_id WHERE c.public_id = %s ORDER BY a.id"
)


@pytest.fixture(scope="module")
def door(engine: Engine) -> Iterator[Door]:
    with opened(engine) as made:
        yield made


def publish(door: Door, topic: str, *texts: str) -> None:
    # After a restart it may take the client a moment to see that the server is back.
    with door.client("till", retry_policy=RetryPolicy(max_attempts=20)) as client:
        client.publish_events("pubsub", topic, list(texts), data_content_type="text/plain")


def test_an_event_that_succeeded_is_delivered_and_comes_no_more(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription:
        publish(door, topic, "one")
        received(subscription)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"], WAIT_SECONDS)
        publish(door, topic, "two")
        assert [event.data() for event in received(subscription)] == ["two"]


def test_a_topic_may_have_a_slash(door: Door) -> None:
    topic = f"{new_topic()}/orders"
    with door.subscribed(topic) as subscription:
        publish(door, topic, "one")
        [event] = received(subscription)
        assert (event.topic(), event.data()) == (topic, "one")


@pytest.mark.parametrize("topic", ["", "a\x00b"])
def test_a_topic_without_a_legal_name_is_refused(door: Door, topic: str) -> None:
    with pytest.raises(Exception, match="INVALID_ARGUMENT"), door.subscribed(topic):
        pass


def test_an_event_with_a_deep_extension_stops_nobody(door: Door) -> None:
    topic, deep = new_topic(), "[" * 60 + "]" * 60
    event = f'{{"specversion": "1.0", "id": "deep", "source": "s", "type": "t", "data": 1, "deep": {deep}}}'
    with door.subscribed(topic) as subscription, door.client("till") as client:
        client.publish_event("pubsub", topic, event, data_content_type="application/cloudevents+json")
        publish(door, topic, "behind")
        first, second = received(subscription, 2)
    assert (first.extensions()["deep"], second.data()) == (deep, "behind")


def test_an_event_to_be_retried_comes_again(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription:
        publish(door, topic, "hard")
        first = following(subscription)
        subscription.respond_retry(first)
        [second] = received(subscription)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"], WAIT_SECONDS)
    assert first.id() == second.id()
    assert door.rows(HISTORY, topic) == [(1, "nacked", "The subscriber answered RETRY"), (2, None, "")]


def test_an_event_that_is_dropped_becomes_a_dead_letter_at_once(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription:
        publish(door, topic, "unwanted")
        subscription.respond_drop(following(subscription))
        wait_until(lambda: door.statuses(topic) == ["DEAD"], WAIT_SECONDS)
    assert door.rows(LETTERS, topic) == [("nacked",)]


def test_a_handler_of_the_sdk_answers_by_what_it_returns(door: Door) -> None:
    topic, seen = new_topic(), []
    answers = {"good": "success", "bad": "drop"}

    def handle(event: SubscriptionMessage) -> TopicEventResponse:
        seen.append(event.data())
        return TopicEventResponse(answers[str(event.data())])

    with door.client("shop") as client:
        close = client.subscribe_with_handler("pubsub", topic, handle)
        publish(door, topic, "good", "bad")
        wait_until(lambda: sorted(door.statuses(topic)) == ["DEAD", "DELIVERED"], WAIT_SECONDS)
        close()
    assert sorted(seen) == ["bad", "good"]


def test_each_application_gets_every_event_and_the_streams_of_one_share_them(door: Door) -> None:
    topic, texts = new_topic(), [f"event {number}" for number in range(20)]
    got: dict[str, list[str]] = {"a1": [], "a2": [], "b": []}

    def handler(name: str) -> Callable[[SubscriptionMessage], TopicEventResponse]:
        def handle(event: SubscriptionMessage) -> TopicEventResponse:
            got[name].append(str(event.data()))
            return TopicEventResponse("success")

        return handle

    with door.client("app-a") as first, door.client("app-a") as second, door.client("app-b") as other:
        closes = [
            client.subscribe_with_handler("pubsub", topic, handler(name))
            for name, client in (("a1", first), ("a2", second), ("b", other))
        ]
        publish(door, topic, *texts)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"] * 40, WAIT_SECONDS)
        for close in closes:
            close()
    assert sorted(got["a1"] + got["a2"]) == sorted(texts)
    assert sorted(got["b"]) == sorted(texts)


def test_what_a_stream_that_is_cut_off_had_goes_to_the_next_subscriber(door: Door) -> None:
    topic, texts = new_topic(), ["one", "two", "three"]
    with door.subscribed(topic) as cut:
        publish(door, topic, *texts)
        done = following(cut)
        cut.respond_success(done)
        following(cut)
        wait_until(lambda: sorted(door.statuses(topic)) == ["DELIVERED", "INFLIGHT", "INFLIGHT"], WAIT_SECONDS)
    with door.subscribed(topic) as following_one:
        again = received(following_one, 2)
        # The SDK cuts the stream when it closes: an answer that is still on its way then is lost.
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"] * 3, WAIT_SECONDS)
    assert sorted([str(done.data()), *(str(event.data()) for event in again)]) == sorted(texts)
    # Nobody failed: the one before had left.
    assert {reason for _, reason, _ in door.rows(HISTORY, topic)} == {None}


def test_what_is_answered_late_is_not_answered_for_the_next(door: Door) -> None:
    """An answer to an event of a stream that is gone is nobody's."""
    topic = new_topic()
    with door.subscribed(topic) as first:
        publish(door, topic, "one")
        old = following(first)
    with door.subscribed(topic) as second:
        new = following(second)
        assert new.id() == old.id()
        second.respond_success(new)
        # Once more: there is no such event any more.
        second.respond_drop(new)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"], WAIT_SECONDS)
        publish(door, topic, "two")
        received(second)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED", "DELIVERED"], WAIT_SECONDS)


def test_two_events_with_one_id_are_both_delivered(door: Door) -> None:
    topic = new_topic()
    event = '{"specversion": "1.0", "id": "same", "source": "s", "datacontenttype": "text/plain", "data": "%s"}'
    with door.subscribed(topic) as subscription, door.client("till") as client:
        for text in ("one", "two"):
            kind = "application/cloudevents+json"
            client.publish_event("pubsub", topic, event % text, data_content_type=kind)
        events = [following(subscription), following(subscription)]
        subscription.respond_success(events[0])
        subscription.respond_success(events[1])
        wait_until(lambda: door.statuses(topic) == ["DELIVERED", "DELIVERED"], WAIT_SECONDS)
    assert [each.raw_data() for each in events] == [b"one", b"two"]


def test_a_subscriber_that_wants_it_raw_gets_the_envelope_as_data(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic, metadata={"rawPayload": "true"}) as subscription:
        publish(door, topic, "one")
        [event] = received(subscription)
    assert event.data()["data"] == "one"


def test_an_app_id_that_is_a_push_consumer_cannot_subscribe(door: Door) -> None:
    topic, web = new_topic(), door.engine.web
    web.put(f"/channel/{topic}", json={}).raise_for_status()
    web.put(f"/channel/{topic}/consumer/shop", json={"callbackUrl": "http://127.0.0.1:1/"}).raise_for_status()
    with pytest.raises(Exception, match="FAILED_PRECONDITION"), door.subscribed(topic):
        pass


def test_a_topic_that_is_not_there_is_refused_where_none_is_made(door: Door) -> None:
    with pytest.raises(Exception, match="PERMISSION_DENIED"), door.subscribed(new_topic(), pubsub="strict"):
        pass


def test_a_token_that_is_changed_ends_the_stream(door: Door) -> None:
    topic, web = new_topic(), door.engine.web
    web.put("/producer/fleeting", json={"token": "was-right"}).raise_for_status()
    with door.client(token="was-right") as client:
        subscription = client.subscribe("pubsub", topic)
        etag = web.get("/producer/fleeting").headers["ETag"]
        web.put("/producer/fleeting", json={"token": "changed"}, headers={"If-Match": etag}).raise_for_status()
        wait_until(lambda: _is_refused(door, "was-right"), WAIT_SECONDS)
        publish(door, topic, "not for you")
        with pytest.raises(Exception, match="UNAUTHENTICATED"):
            following(subscription)
    wait_until(lambda: door.statuses(topic) == ["QUEUED"], WAIT_SECONDS)


def _is_refused(door: Door, token: str) -> bool:
    with door.client(token=token) as client:
        try:
            client.publish_event("pubsub", new_topic(), "x")
        except Exception as error:  # noqa: BLE001
            return "UNAUTHENTICATED" in str(error)
    return False


def test_a_consumer_that_is_deleted_ends_the_stream(door: Door) -> None:
    topic, web = new_topic(), door.engine.web
    with door.subscribed(topic) as subscription:
        publish(door, topic, "one")
        received(subscription)
        etag = web.get(f"/channel/{topic}/consumer/shop").headers["ETag"]
        web.delete(f"/channel/{topic}/consumer/shop", headers={"If-Match": etag}).raise_for_status()
        with pytest.raises(Exception, match="NOT_FOUND"):
            following(subscription)


@pytest.mark.parametrize("blow", [signal.SIGTERM, signal.SIGKILL])
def test_a_subscription_outlives_a_restart_of_the_server(door: Door, blow: signal.Signals) -> None:
    topic = new_topic()
    seen: list[str] = []
    again = threading.Event()

    def handle(event: SubscriptionMessage) -> TopicEventResponse:
        seen.append(str(event.data()))
        if event.data() == "after":
            again.set()
        return TopicEventResponse("success")

    with door.client("shop") as client:
        close = client.subscribe_with_handler("pubsub", topic, handle)
        publish(door, topic, "before")
        wait_until(lambda: door.statuses(topic) == ["DELIVERED"], WAIT_SECONDS)
        door.stop(blow)
        door.start()
        publish(door, topic, "after")
        assert again.wait(WAIT_SECONDS)
        wait_until(lambda: door.statuses(topic) == ["DELIVERED", "DELIVERED"], WAIT_SECONDS)
        close()
    assert seen == ["before", "after"]


def test_a_server_that_stops_takes_last_answers_and_gives_back_the_rest(door: Door) -> None:
    topic = new_topic()
    with door.subscribed(topic) as subscription:
        publish(door, topic, "answered", "not answered")
        answered = following(subscription)
        wait_until(lambda: door.statuses(topic) == ["INFLIGHT", "INFLIGHT"], WAIT_SECONDS)
        door.process.send_signal(signal.SIGTERM)
        subscription.respond_success(answered)
        door.process.wait(WAIT_SECONDS)
        assert door.process.returncode == 0
        assert sorted(door.statuses(topic)) == ["DELIVERED", "QUEUED"]
        following(subscription)
        with pytest.raises((StreamReconnectError, Exception)):
            following(subscription)
    door.start()
