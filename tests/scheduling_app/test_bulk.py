"""Many scheduled messages at once: what a filter means, counted first, and changed in batches."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app import counts
from channels_app import services as registry_services
from channels_app.models import Channel, Message, Operation, Producer
from channels_app.operations import runner
from scheduling_app import bulk, dispatch
from scheduling_app.bells import dispatch_bell
from scheduling_app.dispatch import Lane
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.acceptance.servers import wait_until
from tests.channels_app.messages import nodes_of, plan_of
from tests.channels_app.registry import make_channel, make_producer, problem
from tests.channels_app.staff import log_in
from tests.scheduling_app.later import make_scheduled
from tests.scheduling_app.test_lifecycle import Waiting

pytestmark = pytest.mark.django_db

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
BASE = "/channel/orders/scheduled-messages"


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel()


@pytest.fixture
def shop(db: None) -> Producer:
    return make_producer("shop")


def hours(number: float) -> datetime:
    return NOON + timedelta(hours=number)


def post(client: Client, act: str, body: Any) -> Any:
    return client.post(f"{BASE}/{act}", json.dumps(body), content_type="application/json")


def begun(answer: Any) -> Operation:
    assert answer.status_code == 202, answer.content
    operation = Operation.objects.get(public_id=answer["Location"].removeprefix("/operations/"))
    assert answer.json()["id"] == operation.public_id
    return operation


def ran(answer: Any) -> Operation:
    operation = begun(answer)
    runner.run(operation.pk, seconds=20)
    operation.refresh_from_db()
    return operation


def with_status(status: ScheduledStatus) -> set[str]:
    return set(ScheduledMessage.objects.filter(status=status).values_list("message_id", flat=True))


@pytest.fixture
def several(channel: Channel, shop: Producer) -> None:
    other = make_producer("other")
    make_scheduled(channel, shop, "a-1", scheduled_for=hours(0), priority=1)
    make_scheduled(channel, shop, "a-2", scheduled_for=hours(1))
    make_scheduled(channel, other, "a_3", scheduled_for=hours(2))
    make_scheduled(channel, other, "b-1", scheduled_for=hours(3), priority=1)
    make_scheduled(channel, shop, "sent", status=ScheduledStatus.DISPATCHED)
    make_scheduled(make_channel("another"), shop, "a-9", scheduled_for=hours(0), priority=1)


@pytest.mark.parametrize(
    ("chosen", "meant"),
    [
        ({"dueFrom": "2030-01-01T13:00:00Z"}, {"a-2", "a_3", "b-1"}),
        ({"dueTo": "2030-01-01T13:00:00Z"}, {"a-1"}),
        ({"dueFrom": "2030-01-01T14:00:00+01:00", "dueTo": "2030-01-01T15:00:00Z"}, {"a-2", "a_3"}),
        ({"producer": "other"}, {"a_3", "b-1"}),
        ({"idPrefix": "a-"}, {"a-1", "a-2"}),
        ({"idPrefix": "a_"}, {"a_3"}),
        ({"priority": 1}, {"a-1", "b-1"}),
        ({"priority": 1, "producer": "shop", "IDPREFIX": "a"}, {"a-1"}),
        ({"priority": 7}, set()),
    ],
)
def test_a_filter_means_the_same_counted_and_cancelled(
    api: Client, several: None, chosen: dict[str, Any], meant: set[str]
) -> None:
    before = list(ScheduledMessage.objects.order_by("pk").values())
    counted = post(api, "cancel", {"filter": chosen, "dryRun": True})
    assert (counted.status_code, counted.json()) == (200, {"count": len(meant)})
    assert list(ScheduledMessage.objects.order_by("pk").values()) == before
    assert not Operation.objects.exists()

    operation = ran(post(api, "cancel", {"filter": chosen}))

    assert with_status(ScheduledStatus.CANCELLED) == meant
    assert (operation.status, operation.total, operation.done, operation.failed) == ("DONE", len(meant), len(meant), 0)
    assert not counts.check().total


def test_all_must_be_said(api: Client, several: None) -> None:
    bodies: list[Any] = [{}, {"filter": {}}, {"filter": {}, "all": False}, {"filter": {"priority": 1}, "all": True}]
    for body in bodies:
        problem(post(api, "cancel", body), 400, "filter_missing")
        problem(post(api, "reschedule", {**body, "shiftSeconds": 1}), 400, "filter_missing")

    assert post(api, "cancel", {"all": True, "dryRun": True}).json() == {"count": 4}
    assert ran(post(api, "cancel", {"all": True})).done == 4
    assert with_status(ScheduledStatus.SCHEDULED) == {"a-9"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filter": {"colour": "red"}}, "filter.colour"),
        ({"filter": {"dueFrom": "noon"}}, "filter.dueFrom"),
        ({"filter": {"dueFrom": None}}, "filter.dueFrom"),
        ({"filter": {"dueTo": 5}}, "filter.dueTo"),
        ({"filter": {"idPrefix": "\0"}}, "filter.idPrefix"),
        ({"filter": {"idPrefix": ""}}, "filter.idPrefix"),
        ({"filter": {"producer": "a b"}}, "filter.producer"),
        ({"filter": {"priority": "1"}}, "filter.priority"),
        ({"filter": {"priority": 2**31}}, "filter.priority"),
        ({"filter": []}, "filter"),
        ({"all": "yes"}, "all"),
        ({"all": True, "dryRun": 1}, "dryRun"),
        ({"all": True, "force": True}, "force"),
    ],
)
def test_a_body_that_is_not_valid_starts_nothing(api: Client, several: None, body: Any, field: str) -> None:
    refused = problem(post(api, "cancel", body), 400, "invalid")

    assert {error["field"] for error in refused["errors"]} == {field}
    assert not Operation.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "new_time_missing"),
        ({"to": "2030-01-01T00:00:00Z", "shiftSeconds": 5}, 400, "new_time_missing"),
        ({"to": "soon"}, 400, "invalid"),
        ({"to": "2020-01-01T00:00:00Z"}, 412, "scheduled_too_soon"),
        ({"shiftSeconds": "5"}, 400, "invalid"),
        ({"shiftSeconds": 1e300}, 400, "invalid"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_a_new_time_is_checked_first(
    api: Client, several: None, body: Any, status: int, code: str, *, dry: bool
) -> None:
    problem(post(api, "reschedule", {"all": True, "dryRun": dry, **body}), status, code)
    assert not Operation.objects.exists()


def test_there_must_be_such_a_channel_and_producer(api: Client, several: None) -> None:
    refused = problem(post(api, "cancel", {"filter": {"producer": "nobody"}}), 400, "invalid")
    assert [(error["field"], error["code"]) for error in refused["errors"]] == [("filter.producer", "unknown_producer")]
    gone = Producer.objects.get(public_id="other")
    registry_services.delete(gone, condition=Condition(etags=frozenset({gone.etag})))
    assert post(api, "cancel", {"filter": {"producer": "other"}, "dryRun": True}).json() == {"count": 2}
    answer = api.post("/channel/none/scheduled-messages/cancel", '{"all": true}', content_type="application/json")
    problem(answer, 404, "unknown_channel")
    form = api.post(f"{BASE}/cancel", "all=true", content_type="application/x-www-form-urlencoded")
    problem(form, 415, "unsupported_media_type")


def test_managers_only(stranger: Client, several: None) -> None:
    for act in ("cancel", "reschedule"):
        problem(post(stranger, act, {"all": True}), 401, "not_authenticated")
    staff = log_in("change_scheduledmessage")
    assert begun(post(staff, "cancel", {"all": True})).asked_by == "staff"
    staff.logout()
    assert post(staff, "cancel", {"all": True}).status_code == 401


def test_all_are_moved_to_one_time_and_keep_their_spread(api: Client, several: None) -> None:
    spread = timedelta(seconds=7)
    ScheduledMessage.objects.filter(message_id="a-1").update(due_at=hours(0) + spread)

    operation = ran(post(api, "reschedule", {"filter": {"producer": "shop"}, "to": "2031-01-01T12:00:00Z"}))

    moved = datetime(2031, 1, 1, 12, tzinfo=UTC)
    assert (operation.status, operation.done, operation.failed) == ("DONE", 2, 0)
    assert operation.parameters == {"filter": {"producer": "shop"}, "to": "2031-01-01T12:00:00+00:00"}
    assert times() == {
        "a-1": (moved, moved + spread),
        "a-2": (moved, moved),
        "a_3": (hours(2), hours(2)),
        "b-1": (hours(3), hours(3)),
        "a-9": (hours(0), hours(0)),
    }


def times() -> dict[str, Any]:
    rows = ScheduledMessage.objects.waiting().values_list("message_id", "scheduled_for", "due_at")
    return {name: (scheduled_for, due_at) for name, scheduled_for, due_at in rows}


def test_each_is_shifted_once_from_its_own_time(api: Client, several: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of one: whoever goes on behind another goes on behind its rows."""
    monkeypatch.setattr(bulk, "MOST", 1)
    ScheduledMessage.objects.filter(message_id="a-1").update(due_at=hours(0) + timedelta(seconds=7))

    operation = begun(post(api, "reschedule", {"filter": {"idPrefix": "a"}, "shiftSeconds": -1800.5}))
    assert runner.run_step(operation.pk)
    # Somebody was killed in the middle of the next.
    with transaction.atomic():
        runner.run_step(operation.pk)
        transaction.set_rollback(True)
    runner.run(operation.pk, seconds=20)

    operation.refresh_from_db()
    back = timedelta(seconds=-1800.5)
    assert (operation.status, operation.total, operation.done) == ("DONE", 3, 3)
    assert times() == {
        "a-1": (hours(0) + back, hours(0) + back + timedelta(seconds=7)),
        "a-2": (hours(1) + back, hours(1) + back),
        "a_3": (hours(2) + back, hours(2) + back),
        "b-1": (hours(3), hours(3)),
        "a-9": (hours(0), hours(0)),
    }


def test_what_would_be_too_soon_or_past_all_time_is_left_and_counted(
    api: Client, channel: Channel, shop: Producer
) -> None:
    now = timezone.now()
    at = {name: now + timedelta(minutes=minutes) for name, minutes in (("near", 60), ("past", 5), ("far", 63))}
    for name, when in at.items():
        make_scheduled(channel, shop, name, scheduled_for=when)

    operation = ran(post(api, "reschedule", {"all": True, "shiftSeconds": -3600}))

    assert (operation.status, operation.done, operation.failed) == ("DONE", 1, 2)
    assert {name: found for name, (found, _) in times().items()} == {**at, "far": at["far"] - timedelta(hours=1)}
    ScheduledMessage.objects.update(
        scheduled_for=datetime.max.replace(tzinfo=UTC), due_at=datetime.max.replace(tzinfo=UTC)
    )
    assert ran(post(api, "reschedule", {"all": True, "shiftSeconds": 1})).failed == 3


def test_an_operation_resumed_too_late_moves_nothing_into_the_past(api: Client, several: None) -> None:
    operation = begun(post(api, "reschedule", {"all": True, "to": "2030-01-01T00:00:00Z"}))
    past = timezone.now() - timedelta(days=1)
    Operation.objects.update(created_at=past - timedelta(days=1), parameters={"filter": {}, "to": past.isoformat()})

    runner.run(operation.pk, seconds=20)

    operation.refresh_from_db()
    assert (operation.status, operation.done, operation.failed) == ("DONE", 0, 4)


def test_what_comes_in_later_is_not_meant(api: Client, channel: Channel, shop: Producer, several: None) -> None:
    operation = begun(post(api, "cancel", {"all": True}))
    make_scheduled(channel, shop, "later")

    runner.run(operation.pk, seconds=20)

    assert with_status(ScheduledStatus.SCHEDULED) == {"later", "a-9"}


def test_a_batch_ends_at_the_rows_it_looks_at(
    api: Client, channel: Channel, shop: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is meant stands behind many that are not."""
    monkeypatch.setattr(bulk, "MOST_LOOKED_AT", 3)
    monkeypatch.setattr(bulk, "MOST", 2)
    for number in range(10):
        make_scheduled(channel, shop, f"m{number}", priority=number % 4)
    operation = begun(post(api, "cancel", {"filter": {"priority": 1}}))

    steps = [runner.run_step(operation.pk) is not None for _ in range(4)]

    assert steps == [True, True, True, False]
    assert with_status(ScheduledStatus.CANCELLED) == {"m1", "m5", "m9"}


@pytest.mark.parametrize(("chosen", "read"), [({}, [10]), ({"priority": 3}, [20, 20])])
def test_a_batch_walks_along_an_index_and_no_further_than_it_must(
    channel: Channel, shop: Producer, chosen: dict[str, Any], read: list[int]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, headers,"
            " priority, scheduled_for, due_at, status) SELECT %s, %s, 'x' || n, '', '', '{}', 0, now(), now(),"
            " CASE WHEN n %% 100 = 0 THEN 100 ELSE 101 END FROM generate_series(1, 20000) n",
            [channel.pk, shop.pk],
        )
        cursor.execute("ANALYZE scheduled_message")
        window = {"cursor": 0, "most": 10, "most_looked_at": 20}
        sql = cursor.mogrify(bulk._PICK, bulk._parameters(channel.pk, chosen, 10**9) | window)

    walked = [node for node in nodes_of(plan_of(sql)) if node.get("Index Name") == "scheduled_by_status"]

    assert [int(node["Actual Rows"]) for node in walked if node["Actual Loops"]] == read
    assert len(walked) == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_dispatched_meanwhile_is_not_in_the_set(api: Client, channel: Channel, shop: Producer) -> None:
    make_scheduled(channel, shop, "goes", scheduled_for=timezone.now() - timedelta(minutes=1))
    make_scheduled(channel, shop, "stays")
    operation = begun(post(api, "cancel", {"all": True}))

    with transaction.atomic():
        assert dispatch.dispatch_batch(Lane(channel.pk, 0)).messages == 1
        waiting = Waiting(lambda: runner.run(operation.pk, seconds=20)).until_it_waits()
    waiting.join()

    operation.refresh_from_db()
    assert (operation.status, operation.done, operation.failed) == ("DONE", 1, 0)
    assert with_status(ScheduledStatus.DISPATCHED) == {"goes"}
    assert with_status(ScheduledStatus.CANCELLED) == {"stays"}
    assert [message.message_id for message in Message.objects.all()] == ["goes"]


@pytest.mark.django_db(transaction=True)
def test_lanes_with_something_sooner_are_rung_for(
    api: Client, channel: Channel, shop: Producer, redis_client: redis.Redis, settings: Any
) -> None:
    settings.MIN_SCHEDULE_DELAY_MINUTES = 0
    make_scheduled(channel, shop, "m", scheduled_for=timezone.now() + timedelta(hours=1), partition=3)

    assert ran(post(api, "reschedule", {"all": True, "shiftSeconds": -3595})).done == 1

    rung = dispatch_bell(Lane(channel.pk, 3)).key.removesuffix("0.0") + "*"
    wait_until(lambda: bool(redis_client.keys(rung)), 20)
