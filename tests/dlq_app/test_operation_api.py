"""Long acts over HTTP: a dry run first, then an operation that can be looked at, stopped and resumed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Operation, Producer
from channels_app.operations import runner
from dlq_app.api.queries import as_hex
from dlq_app.models import DeadLetter
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.dlq_app.delivered import make_delivered
from tests.dlq_app.letters import make_dead
from tests.dlq_app.operations import begun, post, ran

pytestmark = pytest.mark.django_db

REDRIVE = "/dead-letters/redrive"
BASE = "/channel/orders/consumer/billing"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STRETCH = {"from": "2026-01-01T12:00:00Z", "to": "2026-01-01T13:00:00Z"}


@pytest.fixture
def several(channel: Channel, consumer: Consumer, producer: Producer) -> dict[str, DeadLetter]:
    other = make_consumer(make_channel("another"), "billing")
    return {
        "timeout": make_dead(consumer, producer, reason="timeout", error="Timeout after 30 s: gateway"),
        "dns": make_dead(consumer, producer, reason="dns", error="Name or service not known"),
        "second": make_dead(make_consumer(channel, "second"), producer, reason="dns", error="Name not known"),
        "other": make_dead(other, producer, reason="timeout", error="Timeout after 5 s: gateway"),
    }


@pytest.mark.parametrize(
    ("chosen", "meant"),
    [
        ({"channel": "orders"}, {"timeout", "dns", "second"}),
        ({"channel": "orders", "consumer": "billing"}, {"timeout", "dns"}),
        ({"reason": "timeout"}, {"timeout", "other"}),
        ({"Reason": "timeout", "channel": "another"}, {"other"}),
        ({"q": "GATEWAY timeout"}, {"timeout", "other"}),
        ({"q": "service", "reason": "timeout"}, set()),
        ({"to": "2020-01-01T00:00:00Z"}, set()),
        ({"from": "2020-01-01T00:00:00+02:00"}, {"timeout", "dns", "second", "other"}),
        ({"all": True}, {"timeout", "dns", "second", "other"}),
    ],
)
def test_a_filter_means_the_same_counted_and_redriven(
    api: Client, several: dict[str, DeadLetter], chosen: dict[str, Any], meant: set[str]
) -> None:
    jobs = {several[name].job_id for name in meant}
    counted = post(api, REDRIVE, {**chosen, "dryRun": True})
    assert counted.status_code == 200, counted.content
    shown = counted.json()
    assert (shown["count"], shown["isExact"]) == (len(meant), True)
    assert {int(letter["jobId"]) for letter in shown["sample"]} == jobs
    assert not DeliveryJob.objects.filter(status=JobStatus.QUEUED).exists()
    assert not Operation.objects.exists()

    operation = ran(begun(post(api, REDRIVE, chosen)))

    assert (operation.status, operation.done, operation.failed) == ("DONE", len(meant), 0)
    assert set(DeliveryJob.objects.filter(status=JobStatus.QUEUED).values_list("pk", flat=True)) == jobs
    assert not counts.check().total


def test_letters_of_one_cause_are_redriven_by_their_fingerprint(api: Client, several: dict[str, DeadLetter]) -> None:
    fingerprint = as_hex(several["timeout"].fingerprint)

    shown = post(api, REDRIVE, {"fingerprint": fingerprint, "dryRun": True}).json()

    assert {letter["error"] for letter in shown["sample"]} == {
        "Timeout after 30 s: gateway",
        "Timeout after 5 s: gateway",
    }
    assert ran(begun(post(api, REDRIVE, {"fingerprint": fingerprint}))).done == 2


def test_a_redrive_says_who_asked_for_what_and_why(
    api: Client, several: dict[str, DeadLetter], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        answer = post(api, REDRIVE, {"channel": "orders", "reason": "dns", "note": "mended", "ratePerSecond": 7})

    shown = answer.json()
    assert (shown["kind"], shown["channel"]) == ("redrive", "orders")
    assert shown["parameters"]["asked"] == {"channel": "orders", "reason": "dns"}
    assert (shown["parameters"]["note"], shown["parameters"]["rate_per_second"]) == ("mended", 7)
    assert shown["askedBy"].startswith("api key bk_")
    assert "operation.started" in caplog.text
    ran(begun(answer))
    resolved = DeadLetter.objects.filter(resolution="requeued").first()
    assert resolved is not None
    assert (resolved.resolved_by, resolved.note) == (shown["askedBy"], "mended")


def test_a_redrive_is_stopped_and_resumed_at_its_own_address(api: Client, several: dict[str, DeadLetter]) -> None:
    operation = begun(post(api, REDRIVE, {"all": True, "ratePerSecond": 5}))
    path = f"/operations/{operation.public_id}"
    runner.run_step(operation.pk)

    assert api.post(f"{path}/stop").status_code == 202
    assert (ran(operation).status, api.get(path).json()["done"]) == ("STOPPED", 1)
    assert api.post(f"{path}/resume").json()["status"] == "RUNNING"


def test_all_must_be_said(api: Client, several: dict[str, DeadLetter]) -> None:
    bodies: list[Any] = [{}, {"dryRun": True}, {"all": False}, {"all": True, "reason": "dns"}]
    for body in bodies:
        problem(post(api, REDRIVE, body), 400, "filter_missing")
    problem(post(api, REDRIVE, {"consumer": "billing"}), 400, "channel_missing")
    assert not Operation.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"channel": "nobody"}, "channel"),
        ({"channel": "orders", "consumer": "nobody"}, "consumer"),
        ({"channel": "a b"}, "channel"),
        ({"channel": None}, "channel"),
        ({"reason": "bad luck"}, "reason"),
        ({"fingerprint": 5}, "fingerprint"),
        ({"fingerprint": "five"}, "fingerprint"),
        ({"fingerprint": "99999999999999999"}, "fingerprint"),
        ({"q": "\0"}, "q"),
        ({"q": ""}, "q"),
        ({"from": "noon"}, "from"),
        ({"to": 5}, "to"),
        ({"all": "yes"}, "all"),
        ({"all": True, "ratePerSecond": 0}, "ratePerSecond"),
        ({"all": True, "ratePerSecond": "5"}, "ratePerSecond"),
        ({"all": True, "note": "x" * 1001}, "note"),
        ({"all": True, "note": "\ud800"}, "note"),
        ({"all": True, "colour": "red"}, "colour"),
        ({"all": True, "dryRun": 1}, "dryRun"),
    ],
)
def test_what_is_not_a_filter_changes_nothing(
    api: Client, several: dict[str, DeadLetter], body: dict[str, Any], field: str
) -> None:
    answer = post(api, REDRIVE, body)

    assert answer.status_code == 400, answer.content
    assert {error["field"] for error in answer.json()["errors"]} == {field}
    assert not Operation.objects.exists()


def test_words_of_a_search_are_words(api: Client, several: dict[str, DeadLetter]) -> None:
    for words in ("' OR 1=1 --", "a & | !", "%s %(x)s {0}", "<b>"):
        assert post(api, REDRIVE, {"q": words, "dryRun": True}).status_code == 200


def test_a_replay_is_counted_first_and_then_an_operation(api: Client, consumer: Consumer, producer: Producer) -> None:
    jobs = [make_delivered(consumer, producer, NOON + timedelta(minutes=n)) for n in (5, 50, 70)]

    shown = post(api, f"{BASE}/replay", {**STRETCH, "dryRun": True}).json()
    assert (shown["count"], shown["isExact"]) == (2, True)
    assert shown["sample"][0] == {"messageId": jobs[0].message.message_id, "at": "2026-01-01T12:05:00Z"}
    assert not DeliveryJob.objects.filter(status=JobStatus.QUEUED).exists()
    operation = ran(begun(post(api, f"{BASE}/replay", {**STRETCH, "note": "again"})))

    assert (operation.kind, operation.done, operation.parameters["consumer"]) == ("replay", 2, "billing")
    assert DeliveryJob.objects.filter(status=JobStatus.QUEUED).count() == 2


def test_what_was_missed_is_counted_first_and_then_an_operation(api: Client, channel: Channel) -> None:
    make_messages(channel, "a", "b", received_at=NOON)
    dispatch(channel)
    make_consumer(channel)
    path, body = f"{BASE}/deliver-missed", {"from": "2026-01-01T12:00:00Z"}

    assert post(api, path, {**body, "dryRun": True}).json()["count"] == 2
    assert not DeliveryJob.objects.exists()
    assert post(api, path, {"from": "2026-01-01T12:00:01Z", "dryRun": True}).json()["count"] == 0
    operation = ran(begun(post(api, path, body)))

    assert (operation.kind, operation.done) == ("deliver_missed", 2)
    assert DeliveryJob.objects.count() == 2


@pytest.mark.parametrize("act", ["replay", "deliver-missed"])
def test_a_stretch_that_is_none_is_refused(api: Client, consumer: Consumer, act: str) -> None:
    path = f"{BASE}/{act}"
    problem(post(api, path, {"from": STRETCH["to"], "to": STRETCH["from"]}), 400, "ends_before_it_begins")
    problem(post(api, path, {"to": STRETCH["to"]}), 400, "invalid")
    problem(post(api, path, {"from": "0001-01-01T00:00:00+23:59", "to": STRETCH["to"]}), 400, "invalid")
    problem(post(api, f"/channel/orders/consumer/nobody/{act}", STRETCH), 404, "unknown_consumer")
    problem(post(api, f"/channel/nothing/consumer/nobody/{act}", STRETCH), 404, "unknown_channel")
    ends = {"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z"}
    assert ran(begun(post(api, path, ends))).status == "DONE"


@pytest.mark.parametrize("act", ["replay", "deliver-missed"])
def test_who_polls_by_index_seeks(api: Client, channel: Channel, act: str) -> None:
    make_consumer(channel, type="pull", pull_mode="index")

    problem(post(api, f"{BASE}/{act}", STRETCH), 409, "consumer_seeks")


@pytest.mark.parametrize("path", [REDRIVE, f"{BASE}/replay", f"{BASE}/deliver-missed"])
def test_only_keys_and_staff_who_may_act(stranger: Client, consumer: Consumer, path: str) -> None:
    body = {"all": True} if path == REDRIVE else STRETCH
    problem(post(stranger, path, body), 401, "not_authenticated")
    staff = log_in("view_deadletter", "change_deadletter", "clear_deadletter")
    problem(post(staff, path, body), 403, "permission_denied")
    assert not Operation.objects.exists()
    User.objects.get().user_permissions.add(Permission.objects.get(codename="act_on_deadletter"))

    assert begun(post(staff, path, body)).asked_by == "staff"
