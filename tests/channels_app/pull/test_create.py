"""Making what must not be there yet: the queue exists, the subscriber is registered, there is no such queue."""

import json
from typing import Any

import pytest
from django.test import Client

from channels_app.models import Channel, Consumer
from tests.channels_app.registry import make_channel, problem
from tests.channels_app.staff import log_in

pytestmark = pytest.mark.django_db(transaction=True)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def test_a_channel_is_made_once(api: Client) -> None:
    made = post(api, "/channels", {"id": "orders", "maxBacklog": 5, "token": "open"})

    assert made.status_code == 201
    assert made["Location"] == "/channel/orders"
    assert made.json() == api.get("/channel/orders").json()
    assert made["ETag"] == api.get("/channel/orders")["ETag"]
    problem(post(api, "/channels", {"id": "orders", "maxBacklog": 9}), 409, "channel_exists")
    assert Channel.objects.get().max_backlog == 5


def test_a_consumer_is_registered_once(api: Client) -> None:
    make_channel()
    body = {"id": "billing", "type": "pull", "pullMode": "index", "startFrom": 0}
    made = post(api, "/channel/orders/consumers", body)

    assert made.status_code == 201
    assert made["Location"] == "/channel/orders/consumer/billing"
    assert made.json() == api.get("/channel/orders/consumer/billing").json()
    problem(post(api, "/channel/orders/consumers", body), 409, "consumer_exists")
    assert Consumer.objects.count() == 1


def test_another_channel_may_have_a_consumer_of_that_name(api: Client) -> None:
    for channel in ("orders", "returns"):
        make_channel(channel)
        assert post(api, f"/channel/{channel}/consumers", {"id": "billing", "type": "pull"}).status_code == 201


def test_an_unknown_channel_has_no_consumers(api: Client) -> None:
    problem(post(api, "/channel/none/consumers", {"id": "billing", "type": "pull"}), 404, "unknown_channel")


@pytest.mark.parametrize("body", [{}, *({"id": one} for one in ("", "a b", "a/b", "a\n", 5, None, "x" * 256))])
def test_an_id_is_needed_and_checked(api: Client, body: dict[str, Any]) -> None:
    assert post(api, "/channels", body).status_code == 400
    assert not Channel.objects.exists()


@pytest.mark.parametrize("wrong", [{"retentionDays": 0}, {"colour": "red"}, {"rateLimit": {"burst": 3}}])
def test_fields_are_checked_as_in_a_put(api: Client, wrong: dict[str, Any]) -> None:
    assert post(api, "/channels", {"id": "orders", **wrong}).status_code == 400
    assert not Channel.objects.exists()


def test_a_push_consumer_needs_its_url(api: Client) -> None:
    make_channel()

    problem(post(api, "/channel/orders/consumers", {"id": "billing"}), 400, "callback_url_missing")


def test_a_stranger_and_a_token_make_nothing(stranger: Client) -> None:
    make_channel(token="open")
    opened = Client(headers={"X-Broker-Channel-Token": "open"})

    assert post(stranger, "/channels", {"id": "x"}).status_code == 401
    assert post(opened, "/channel/orders/consumers", {"id": "x", "type": "pull"}).status_code == 401
    assert not Consumer.objects.exists()


def test_staff_make_what_they_may_change() -> None:
    client = log_in("change_channel")

    assert post(client, "/channels", {"id": "orders"}).status_code == 201
    assert post(client, "/channel/orders/consumers", {"id": "x", "type": "pull"}).status_code == 403
