"""Jobs read over HTTP: one with its history, all of a message, and a look at what comes next."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from channels_app.models import Channel, Consumer, DeliveryJob, Message
from channels_app.pull import peek as peek_module
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.traffic import make_attempt

pytestmark = pytest.mark.django_db

QUEUED, INFLIGHT, DELIVERED, DEAD = 1001, 1002, 1003, 1004
BOTH = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}
JOBS = "/channel/orders/consumer/billing"


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(token="open")


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, type="pull", token="mine")


@pytest.fixture
def message(channel: Channel, consumer: Consumer) -> Message:
    [made] = make_messages(channel, "m-1")
    dispatch(channel)
    return made


def set_jobs(message: Message, **values: Any) -> None:
    DeliveryJob.objects.filter(message=message).update(**values)


def test_a_job_shows_who_has_it_since_when_and_every_try(api: Client, message: Message) -> None:
    now = timezone.now()
    set_jobs(
        message,
        status=INFLIGHT,
        attempt=2,
        failures=1,
        device_id="d-1",
        received_at=now,
        started_at=now,
        lease_until=now,
    )
    job = message.jobs.get()
    make_attempt(job, 1, reason="ack_timeout", device_id="d-0")

    shown = api.get(f"{JOBS}/job/{job.pk}").json()

    assert (shown["id"], shown["messageId"], shown["status"]) == (str(job.pk), "m-1", "INFLIGHT")
    assert (shown["attempt"], shown["failures"], shown["deviceId"]) == (2, 1, "d-1")
    assert shown["publishedAt"].endswith("Z")
    assert shown["receivedAt"] == shown["startedAt"] == shown["leaseUntil"]
    assert (shown["completedAt"], shown["nextAttemptAt"], shown["reason"]) == (None, None, None)
    [attempt] = shown["attempts"]
    assert (attempt["attempt"], attempt["reason"], attempt["deviceId"]) == (1, "ack_timeout", "d-0")


def test_a_job_that_has_ended_shows_when(api: Client, message: Message) -> None:
    set_jobs(message, status=DEAD, reason="nacked")

    shown = api.get(f"{JOBS}/job/{message.jobs.get().pk}").json()

    assert shown["completedAt"] == shown["statusChangedAt"]


def test_both_tokens_open_a_job_and_one_does_not(stranger: Client, message: Message) -> None:
    path = f"{JOBS}/job/{message.jobs.get().pk}"

    assert stranger.get(path, headers=BOTH).status_code == 200
    problem(stranger.get(path), 401, "not_authenticated")
    problem(stranger.get(path, headers={"X-Broker-Channel-Token": "open"}), 401, "not_authenticated")
    problem(stranger.get(path, headers={**BOTH, "X-Broker-Consumer-Token": "no"}), 403, "wrong_token")
    problem(stranger.get(path, headers={**BOTH, "X-Broker-Channel-Token": "no"}), 403, "wrong_token")


@pytest.mark.parametrize("job_id", ["0", "x", "12x", "9" * 30, "-1", "%00"])
def test_what_is_no_job_is_unknown(api: Client, message: Message, job_id: str) -> None:
    problem(api.get(f"{JOBS}/job/{job_id}"), 404, "unknown_job")


def test_another_s_job_is_unknown(api: Client, channel: Channel, message: Message) -> None:
    make_consumer(channel, "other", type="pull")

    problem(api.get(f"/channel/orders/consumer/other/job/{message.jobs.get().pk}"), 404, "unknown_job")


def test_a_method_that_nobody_knows_here_is_told_of_the_door_s_too(api: Client, message: Message) -> None:
    refused = api.put(f"{JOBS}/job/{message.jobs.get().pk}")

    assert (refused.status_code, refused["Allow"]) == (405, "GET, DELETE, HEAD, OPTIONS, POST")


@pytest.mark.parametrize(
    ("jobs", "status"),
    [
        ([{}, {}], "QUEUED"),
        ([{"status": INFLIGHT, "lease_until": timezone.now()}, {}], "RUNNING"),
        ([{"started_at": timezone.now()}, {}], "RUNNING"),
        ([{"status": DELIVERED}, {}], "RUNNING"),
        ([{"status": DELIVERED}, {"status": DELIVERED}], "COMPLETE"),
        ([{"status": DELIVERED}, {"status": DEAD, "reason": "nacked"}], "FAILED"),
    ],
)
def test_a_task_is_its_message_over_all_jobs(
    stranger: Client, channel: Channel, consumer: Consumer, jobs: list[dict[str, Any]], status: str
) -> None:
    make_consumer(channel, "other", type="pull")
    [message] = make_messages(channel, "m-1")
    dispatch(channel)
    for job, values in zip(message.jobs.order_by("pk"), jobs, strict=True):
        DeliveryJob.objects.filter(pk=job.pk).update(**values)

    shown = stranger.get("/channel/orders/task/m-1", headers={"X-Broker-Channel-Token": "open"}).json()

    assert (shown["id"], shown["status"]) == ("m-1", status)
    assert [job["consumer"] for job in shown["jobs"]] == ["billing", "other"]
    assert "callbackUrl" not in str(shown)


def test_a_task_that_is_not_fanned_out_yet_is_queued(api: Client, channel: Channel) -> None:
    make_messages(channel, "m-1")

    assert api.get("/channel/orders/task/m-1").json()["status"] == "QUEUED"
    problem(api.get("/channel/orders/task/m-2"), 404, "unknown_message")


def test_a_peek_shows_what_would_come_next_and_takes_nothing(
    stranger: Client, channel: Channel, consumer: Consumer
) -> None:
    make_messages(channel, "low", "waits", "old")
    make_messages(channel, "high", priority=5, payload=b"\xff", headers={"X-Kind": "a"})
    dispatch(channel)
    later = timezone.now() + timedelta(hours=1)
    DeliveryJob.objects.filter(message__message_id="waits").update(next_attempt_at=later)
    DeliveryJob.objects.filter(message__message_id="old").update(expires_at=timezone.now() - timedelta(hours=1))

    shown = stranger.get(f"{JOBS}/queued-jobs", headers=BOTH).json()["result"]

    high, low = shown
    assert (high["priority"], high["attempt"], set(high)) == (5, 0, {"id", "priority", "attempt", "message"})
    assert high["message"] == {
        "messageId": "high",
        "payloadBase64": "/w==",
        "contentType": "text/plain",
        "headers": {"X-Kind": "a"},
    }
    assert low["message"]["payload"] == "hello"
    assert DeliveryJob.objects.filter(status=QUEUED).count() == 4


def test_a_peek_ends_at_its_limit_or_at_its_bytes(
    monkeypatch: pytest.MonkeyPatch, api: Client, channel: Channel, consumer: Consumer
) -> None:
    make_messages(channel, "a", "b", "c", payload=b"x" * 100)
    dispatch(channel)

    assert len(api.get(f"{JOBS}/queued-jobs?limit=2").json()["result"]) == 2
    monkeypatch.setattr(peek_module, "MOST_BYTES", 50)
    assert len(api.get(f"{JOBS}/queued-jobs").json()["result"]) == 1
    problem(api.get(f"{JOBS}/queued-jobs?limit=101"), 400, "bad_limit")


def test_a_consumer_that_is_pushed_to_has_nothing_to_look_at(api: Client, channel: Channel) -> None:
    make_consumer(channel, "pushed")

    problem(api.get("/channel/orders/consumer/pushed/queued-jobs"), 412, "not_pull")
    problem(api.get("/channel/orders/consumer/nobody/queued-jobs"), 404, "unknown_consumer")
