"""Who may read and change the registry."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from channels_app.models import ApiKey, Channel
from channels_app.registry import registry
from tests.channels_app.registry import make_channel, make_consumer, problem, put

pytestmark = pytest.mark.django_db


def test_without_a_credential_nothing_is_shown(stranger: Client) -> None:
    make_consumer(make_channel())

    for path in ("/channels", "/producers", "/channel/orders", "/channel/orders/consumer/billing", "/channel/none"):
        response = stranger.get(path)
        problem(response, 401, "not_authenticated")
        assert response["WWW-Authenticate"] == "Bearer"


def test_a_wrong_or_revoked_key_is_401(stranger: Client, api: Client) -> None:
    problem(stranger.get("/channels", headers={"Authorization": "Bearer bk_nonsense"}), 401, "authentication_failed")
    assert api.get("/channels").status_code == 200

    ApiKey.objects.all().revoke()

    registry.cache_clear()
    problem(api.get("/channels"), 401, "authentication_failed")


def test_a_channel_token_opens_the_reads_of_its_channel_without_secrets(stranger: Client) -> None:
    make_consumer(make_channel(token="open"), "billing", token="hush")
    make_channel("other", token="shut")
    opened = {"X-Broker-Channel-Token": "open"}

    channel = stranger.get("/channel/orders", headers=opened)
    consumer = stranger.get("/channel/orders/consumer/billing", headers=opened)

    assert stranger.get("/channel/orders/consumers", headers=opened).status_code == 200
    assert "token" not in channel.json()
    assert {"token", "callbackUrl"}.isdisjoint(consumer.json())
    made_up = {**opened, "X-Broker-Consumer-Token": "made-up"}
    assert "token" not in stranger.get("/channel/orders", headers=made_up).json()
    problem(stranger.get("/channel/other", headers=opened), 403, "wrong_token")
    problem(stranger.get("/channel/none", headers=opened), 404, "unknown_channel")
    problem(stranger.get("/channels", headers=opened), 401, "not_authenticated")


def test_a_channel_token_does_not_open_writes(stranger: Client) -> None:
    channel = make_channel(token="open")

    response = put(stranger, "/channel/orders", {"name": "x"}, x_broker_channel_token="open", if_match=channel.etag)

    problem(response, 401, "not_authenticated")


def test_a_consumers_own_token_shows_it_whole(stranger: Client) -> None:
    make_consumer(make_channel(), "billing", token="mine")
    path = "/channel/orders/consumer/billing"

    body = stranger.get(path, headers={"X-Broker-Consumer-Token": "mine"}).json()

    assert (body["token"], body["callbackUrl"]) == ("mine", "http://127.0.0.1:9/")
    problem(stranger.get(path, headers={"X-Broker-Consumer-Token": "other"}), 403, "wrong_token")


def test_staff_read_in_their_session_and_write_what_they_may(stranger: Client) -> None:
    channel = make_channel(token="hush")
    clerk = User.objects.create_user("clerk", is_staff=True)
    stranger.force_login(clerk)

    made_up = {"X-Broker-Consumer-Token": "made-up"}
    assert "token" not in stranger.get("/channel/orders").json()
    assert "token" not in stranger.get("/channel/orders", headers=made_up).json()
    problem(put(stranger, "/channel/orders", {"name": "x"}, if_match=channel.etag), 403, "permission_denied")

    clerk.user_permissions.set(Permission.objects.filter(codename__in=["change_channel", "reveal_token"]))
    assert stranger.get("/channel/orders").json()["token"] == "hush"
    assert put(stranger, "/channel/orders", {"name": "x"}, if_match=channel.etag).status_code == 200


def test_a_user_who_is_not_staff_may_nothing(stranger: Client) -> None:
    stranger.force_login(User.objects.create_user("guest"))

    problem(stranger.get("/channels"), 403, "permission_denied")


def test_a_write_in_a_session_needs_its_csrf_token() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("boss"))

    problem(put(browser, "/channel/orders"), 403, "permission_denied")

    assert not Channel.objects.exists()
