"""Channels, producers and consumers over HTTP."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from django.test import Client

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.errors import UnknownChannel
from channels_app.models import Channel, Consumer
from tests.channels_app.registry import make_channel, make_consumer, make_producer, problem, put

pytestmark = pytest.mark.django_db

CHANNEL_DEFAULTS = {
    "state": {"status": "delivering", "pausedAt": None},
    "id": "orders",
    "name": "orders",
    "rateLimit": None,
    "retryPolicy": {
        "retries": 3,
        "initialSeconds": 1.0,
        "factor": 2.0,
        "ceilingSeconds": 30.0,
        "jitter": "none",
        "nonRetriable": [],
    },
    "delayedMessaging": True,
    "deadLetters": "keep",
    "maxBacklog": None,
    "maxAgeSeconds": 86400,
    "partitions": 1,
    "spreadSeconds": None,
    "releasePerSecond": None,
    "retentionDays": None,
    "answers": "http",
    "consumersUrl": "/channel/orders/consumers",
    "messagesUrl": "/channel/orders/messages",
    "broadcastUrl": "/channel/orders/broadcast",
    "messagesStatusUrl": "/channel/orders/messages-status",
    "scheduledMessagesUrl": "/channel/orders/scheduled-messages",
}


def test_a_put_of_a_new_id_creates_it_with_a_token_of_our_making(api: Client) -> None:
    response = put(api, "/producer/shop")

    assert response.status_code == 201
    body = response.json()
    assert body.keys() == {"id", "name", "token", "changedAt", "rateLimit"}
    assert (body["id"], body["name"]) == ("shop", "shop")
    assert len(body["token"]) >= 32
    assert api.get("/producer/shop").json() == body


def test_a_channel_is_shown_with_its_defaults_and_addresses(api: Client) -> None:
    put(api, "/channel/orders", {"token": "open"})

    body = api.get("/channel/orders").json()

    assert body.pop("token") == "open"
    assert body.pop("changedAt").endswith("Z")
    assert body == CHANNEL_DEFAULTS


def test_a_consumer_is_shown_with_the_defaults_of_its_type(api: Client) -> None:
    make_channel()
    push = put(api, "/channel/orders/consumer/billing", {"callbackUrl": "https://example.com/hook"}).json()
    pull = put(api, "/channel/orders/consumer/archive", {"type": "pull", "pullMode": "index"}).json()

    assert (push["type"], push["maxInFlight"], push["callbackUrl"]) == ("push", 100, "https://example.com/hook")
    assert (push["ackMode"], push["ackTimeoutSeconds"], push["timeoutSeconds"]) == ("response", 60.0, 30.0)
    assert (push["circuitBreaker"], push["unackedCap"]) == (True, 10)
    assert push["deadLetterQueueUrl"] == "/channel/orders/consumer/billing/dlq"
    assert (pull["type"], pull["pullMode"], pull["maxInFlight"], pull["callbackUrl"]) == ("pull", "index", 1000, "")
    assert set(push["retryPolicy"].values()) == {None}


def test_an_update_keeps_what_is_left_out_and_resets_what_is_null(api: Client) -> None:
    made = put(api, "/channel/orders", {"name": "Orders", "partitions": 4, "retryPolicy": {"retries": 7, "factor": 3}})

    changed = put(api, "/channel/orders", {"partitions": None, "retryPolicy": {"retries": None}}, if_match=made["ETag"])

    assert changed.status_code == 200
    body = changed.json()
    assert (body["name"], body["partitions"], body["token"]) == ("Orders", 1, made.json()["token"])
    assert (body["retryPolicy"]["retries"], body["retryPolicy"]["factor"]) == (3, 3.0)


def test_null_makes_a_new_token_and_takes_a_rate_limit_away(api: Client) -> None:
    made = put(api, "/channel/orders", {"token": "old", "rateLimit": {"perSecond": 5, "burst": 10}})
    assert made.json()["rateLimit"] == {"perSecond": 5.0, "burst": 10}

    body = put(api, "/channel/orders", {"token": None, "rateLimit": None}, if_match=made["ETag"]).json()

    assert body["token"] not in ("old", "", None)
    assert body["rateLimit"] is None


def test_a_document_that_was_read_can_be_put_back(api: Client) -> None:
    make_consumer(make_channel(), "billing", retries=5)
    for path in ("/channel/orders", "/channel/orders/consumer/billing"):
        read = api.get(path)

        written = put(api, path, read.json(), if_match=read["ETag"])

        assert written.status_code == 200, written.content
        assert {**written.json(), "changedAt": 0} == {**read.json(), "changedAt": 0}


def test_a_burst_is_changed_alone_but_not_without_a_rate(api: Client) -> None:
    problem(put(api, "/channel/orders", {"rateLimit": {"burst": 5}}), 400, "rate_missing")
    made = put(api, "/channel/orders", {"rateLimit": {"perSecond": 2}})

    body = put(api, "/channel/orders", {"rateLimit": {"burst": 5}}, if_match=made["ETag"]).json()

    assert body["rateLimit"] == {"perSecond": 2.0, "burst": 5}


def test_a_form_carries_flat_fields(api: Client) -> None:
    response = api.put(
        "/channel/orders",
        "token=secret&name=Orders&partitions=3&delayedMessaging=false",
        content_type="application/x-www-form-urlencoded",
    )

    assert response.status_code == 201, response.content
    body = response.json()
    assert (body["token"], body["name"], body["partitions"], body["delayedMessaging"]) == ("secret", "Orders", 3, False)


def test_a_form_cannot_carry_what_is_nested(api: Client) -> None:
    response = api.put("/channel/orders", "retryPolicy=5", content_type="application/x-www-form-urlencoded")

    assert problem(response, 400, "invalid")["errors"][0]["field"] == "retryPolicy"


def test_key_names_are_taken_in_any_case(api: Client) -> None:
    body = put(api, "/channel/orders", {"NAME": "Orders", "retrypolicy": {"RETRIES": 1}}).json()

    assert (body["name"], body["retryPolicy"]["retries"]) == ("Orders", 1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"name": ""}, "name"),
        ({"name": 5}, "name"),
        ({"name": "a" * 256}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a\n"}, "name"),
        ({"token": "a\n"}, "token"),
        ({"name": "\x00"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"token": "with space"}, "token"),
        ({"token": "ü"}, "token"),
        ({"name": "a", "Name": "b"}, "Name"),
        ({"partitions": 0}, "partitions"),
        ({"partitions": "2"}, "partitions"),
        ({"partitions": 1.5}, "partitions"),
        ({"partitions": True}, "partitions"),
        ({"partitions": 10**30}, "partitions"),
        ({"spreadSeconds": 0}, "spreadSeconds"),
        ({"spreadSeconds": 86_401}, "spreadSeconds"),
        ({"spreadSeconds": "nan"}, "spreadSeconds"),
        ({"releasePerSecond": 0}, "releasePerSecond"),
        ({"releasePerSecond": -1.5}, "releasePerSecond"),
        ({"releasePerSecond": True}, "releasePerSecond"),
        ({"retentionDays": -1}, "retentionDays"),
        ({"answers": "loudly"}, "answers"),
        ({"delayedMessaging": "yes"}, "delayedMessaging"),
        ({"deadLetters": "maybe"}, "deadLetters"),
        ({"retryPolicy": []}, "retryPolicy"),
        ({"retryPolicy": {"retries": 101}}, "retryPolicy.retries"),
        ({"retryPolicy": {"initialSeconds": 0}}, "retryPolicy.initialSeconds"),
        ({"retryPolicy": {"initialSeconds": "nan"}}, "retryPolicy.initialSeconds"),
        ({"retryPolicy": {"factor": 0.5}}, "retryPolicy.factor"),
        ({"retryPolicy": {"jitter": "some"}}, "retryPolicy.jitter"),
        ({"retryPolicy": {"jitter": {}}}, "retryPolicy.jitter"),
        ({"retryPolicy": {"nonRetriable": [200]}}, "retryPolicy.nonRetriable.0"),
        ({"retryPolicy": {"nonRetriable": ["boom"]}}, "retryPolicy.nonRetriable.0"),
        ({"rateLimit": {"perSecond": -1}}, "rateLimit.perSecond"),
    ],
)
def test_a_value_that_is_not_valid_is_named_and_changes_nothing(api: Client, body: dict[str, Any], field: str) -> None:
    found = problem(put(api, "/channel/orders", body), 400, "invalid")

    assert field in [error["field"] for error in found["errors"]]
    assert not Channel.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "/hook",
        "ftp://example.com/",
        "http://",
        "http://:80/",
        "https://user:pw@example.com/",
        "http://a/#b",
        "http://a b/",
        "http://a:99999/",
        "http://[::1",
        "http://ü/",
        "x" * 3000,
    ],
)
def test_a_callback_url_must_be_absolute_and_plain(api: Client, url: str) -> None:
    make_channel()

    found = problem(put(api, "/channel/orders/consumer/billing", {"callbackUrl": url}), 400, "invalid")

    assert found["errors"][0]["field"] == "callbackUrl"
    assert not Consumer.objects.exists()


def test_a_push_consumer_needs_a_callback_url(api: Client) -> None:
    make_channel()

    problem(put(api, "/channel/orders/consumer/billing"), 400, "callback_url_missing")

    assert not Consumer.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"x"', b"null", b'{"a": NaN}', b"\xff", b"[" * 100_000, b'{"partitions": ' + b"9" * 5000 + b"}"],
)
def test_a_body_that_is_not_a_json_object_is_refused(api: Client, body: bytes) -> None:
    response = api.put("/channel/orders", body, content_type="application/json")

    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_another_media_type_is_415(api: Client) -> None:
    problem(api.put("/channel/orders", b"<a/>", content_type="application/xml"), 415, "unsupported_media_type")


def test_another_method_is_405_and_says_which_are_allowed(api: Client) -> None:
    response = api.post("/channel/orders", {}, content_type="application/json")

    problem(response, 405, "method_not_allowed")
    assert set(response["Allow"].split(", ")) >= {"GET", "PUT", "DELETE"}


@pytest.mark.parametrize("public_id", ["a b", "ü", "a%00b", "a@b", "a" * 256])
def test_an_id_that_is_not_legal_is_400_to_put_and_404_to_get(api: Client, public_id: str) -> None:
    problem(put(api, f"/producer/{public_id}"), 400, "invalid_id")
    problem(api.get(f"/producer/{public_id}"), 404, "unknown_producer")


def test_ids_are_case_sensitive(api: Client) -> None:
    put(api, "/producer/Shop")

    problem(api.get("/producer/shop"), 404, "unknown_producer")
    assert put(api, "/producer/shop").status_code == 201


@pytest.mark.parametrize(
    "path",
    ["/channel/none", "/channel/none/consumers", "/channel/none/consumer/x"],
)
def test_an_unknown_channel_is_404_everywhere(api: Client, path: str) -> None:
    problem(api.get(path), 404, "unknown_channel")


@pytest.mark.parametrize("path", ["/channel/orders/", "/producers/", "/nowhere", "/channel//consumers"])
def test_a_slash_too_many_is_404_and_not_a_redirect(api: Client, path: str) -> None:
    make_channel()

    problem(api.get(path), 404, "not_found")


# Conditional updates


def test_an_update_without_a_condition_is_refused(api: Client) -> None:
    make_channel(name="Orders")

    refused = problem(put(api, "/channel/orders", {"name": "Other"}), 400, "precondition_missing")

    assert Channel.objects.get().name == "Orders"
    assert "If-Match (its ETag, or * for whatever is there now)" in refused["detail"]


def test_an_update_of_whatever_is_there_is_taken(api: Client) -> None:
    make_channel(name="Orders")

    assert put(api, "/channel/orders", {"name": "Other"}, if_match="*").status_code == 200

    assert Channel.objects.get().name == "Other"


def test_the_last_modified_that_was_read_opens_one_update(api: Client) -> None:
    known = put(api, "/channel/orders")["Last-Modified"]

    first = put(api, "/channel/orders", {"name": "First"}, if_unmodified_since=known)
    second = put(api, "/channel/orders", {"name": "Second"}, if_unmodified_since=known)

    assert first.status_code == 200
    problem(second, 412, "changed_meanwhile")
    assert Channel.objects.get().name == "First"
    assert parsedate_to_datetime(first["Last-Modified"]) > parsedate_to_datetime(known)


def test_each_update_moves_time_by_a_second_at_least(api: Client) -> None:
    response = put(api, "/channel/orders")
    stamps = []
    for turn in range(5):
        response = put(api, "/channel/orders", {"name": str(turn)}, if_match=response["ETag"])
        stamps.append(datetime.fromisoformat(response.json()["changedAt"]))

    assert stamps == sorted(set(stamps))
    assert all(stamp.microsecond == 0 and stamp.tzinfo == UTC for stamp in stamps)


@pytest.mark.parametrize("value", ["yesterday", "", "2025-01-01", "Tue, 99 Nov 1994 12:45:26 GMT"])
def test_a_condition_that_is_no_date_is_refused(api: Client, value: str) -> None:
    make_channel()

    problem(put(api, "/channel/orders", if_unmodified_since=value), 400, "precondition_invalid")


def test_if_none_match_star_creates_only(api: Client) -> None:
    assert put(api, "/channel/orders", if_none_match="*").status_code == 201
    problem(put(api, "/channel/orders", if_none_match="*"), 412, "already_exists")


def test_an_etag_of_something_that_is_gone_does_not_make_it_again(api: Client) -> None:
    problem(put(api, "/channel/orders", if_match='"1-1"'), 412, "changed_meanwhile")

    assert not Channel.objects.exists()


# Deletion


def test_a_deleted_consumer_is_gone_and_its_id_is_free(api: Client) -> None:
    consumer = make_consumer(make_channel())
    path = "/channel/orders/consumer/billing"
    problem(api.delete(path), 400, "precondition_missing")
    problem(api.delete(path, headers={"If-Match": '"0-0"'}), 412, "changed_meanwhile")

    assert api.delete(path, headers={"If-Match": consumer.etag}).status_code == 204

    problem(api.get(path), 404, "unknown_consumer")
    assert api.get("/channel/orders/consumers").json() == {"result": [], "pages": {}}
    assert put(api, path, {"type": "pull"}).status_code == 201
    assert Consumer.objects.count() == 2


def test_a_deleted_channel_takes_its_consumers_along(api: Client) -> None:
    channel = make_channel()
    make_consumer(channel)

    assert api.delete("/channel/orders", headers={"If-Match": channel.etag}).status_code == 204

    problem(api.get("/channel/orders/consumers"), 404, "unknown_channel")
    put(api, "/channel/orders")
    assert api.get("/channel/orders/consumers").json()["result"] == []
    assert Channel.objects.count() == 2


def test_a_deleted_producer_is_gone(api: Client) -> None:
    producer = make_producer()

    assert api.delete("/producer/shop", headers={"If-Match": producer.etag}).status_code == 204

    problem(api.get("/producer/shop"), 404, "unknown_producer")


def test_a_channel_deleted_meanwhile_takes_no_new_consumer() -> None:
    channel = make_channel()
    services.delete(Channel.objects.get(), condition=Condition(etags=frozenset({channel.etag})))

    with pytest.raises(UnknownChannel):
        make_consumer(channel)

    assert not Consumer.objects.exists()
