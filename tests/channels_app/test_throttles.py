"""Limits on the management API, in the real Redis."""

from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from broker_project.api.token_bucket import TokenBucket
from tests.acceptance.servers import wait_until
from tests.channels_app.registry import make_channel, problem

pytestmark = pytest.mark.django_db


def test_a_key_over_its_rate_gets_429_with_a_time_to_come_back(
    api: Client, settings: Any, redis_client: redis.Redis
) -> None:
    settings.MANAGEMENT_RATE_PER_SECOND, settings.MANAGEMENT_BURST = 0.01, 3

    answers = [api.get("/channels") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    problem(answers[-1], 429, "throttled")
    assert 90 <= int(answers[-1]["Retry-After"]) <= 100


def test_an_address_that_guesses_too_often_gets_429(stranger: Client, settings: Any, redis_client: redis.Redis) -> None:
    make_channel(token="open")
    settings.REFUSALS_PER_MINUTE = 2
    guess = {"X-Broker-Channel-Token": "guess"}

    answers = [stranger.get("/channel/orders", headers=guess).status_code for _ in range(3)]

    assert answers == [403, 403, 429]
    assert stranger.get("/channel/orders", headers={"X-Broker-Channel-Token": "open"}).status_code == 200


def test_a_bucket_fills_again_with_time(redis_client: redis.Redis) -> None:
    bucket = TokenBucket(redis_client)

    assert [bucket.take("k", per_second=5, burst=2) > 0 for _ in range(3)] == [False, False, True]
    wait_until(lambda: bucket.take("k", per_second=5, burst=2) == 0, 5)
    assert int(str(redis_client.pttl("bucket:k"))) > 0


def test_without_redis_the_limit_is_open_and_counted() -> None:
    bucket = TokenBucket(redis.Redis(unix_socket_path="/nonexistent/redis.sock"))

    assert [bucket.take("k", per_second=0.001, burst=1) for _ in range(3)] == [0, 0, 0]
    # Asked once, then left alone for a while.
    assert bucket.opened == 1


def test_guesses_of_a_password_are_paced(stranger: Client, settings: Any, redis_client: redis.Redis) -> None:
    settings.REFUSALS_PER_MINUTE = 2
    User.objects.create_superuser("boss", password="right")

    pages = [stranger.post("/admin/login/", {"username": "boss", "password": word}) for word in ("a", "b", "right")]

    assert "Too many tries" in pages[-1].content.decode()
    assert "Too many tries" not in pages[1].content.decode()
    assert "_auth_user_id" not in stranger.session
