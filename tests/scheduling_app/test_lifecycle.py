"""One scheduled message, by the client's own id: cancel, change, send at once; and who may."""

import json
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app import counts
from channels_app import services as registry_services
from channels_app.models import Channel, Message, Producer
from scheduling_app import dispatch, services, tasks
from scheduling_app.dispatch import Lane
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.channels_app.registry import make_channel, make_producer, problem
from tests.channels_app.staff import log_in
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db

PATH = "/channel/orders/scheduled-message/m"
NOW_PATH = f"{PATH}/dispatch-now"
TOKENS = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(token="open")


@pytest.fixture
def message(channel: Channel) -> ScheduledMessage:
    return make_scheduled(channel, make_producer(token="sell"), "m")


def patch(client: Client, body: Any, headers: dict[str, str] | None = None) -> Any:
    return client.patch(PATH, json.dumps(body), content_type="application/json", headers=headers)


def ahead(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


def row() -> ScheduledMessage:
    return ScheduledMessage.objects.get(message_id="m")


def act(client: Client, name: str, headers: dict[str, str] | None = None) -> Any:
    if name == "cancel":
        return client.delete(PATH, headers=headers)
    if name == "change":
        return patch(client, {"priority": 3}, headers)
    return client.post(NOW_PATH, headers=headers)


ACTS = pytest.mark.parametrize(("name", "status"), [("cancel", 204), ("change", 200), ("dispatch now", 202)])


def test_a_cancelled_message_is_not_sent_and_keeps_its_id(api: Client, message: ScheduledMessage) -> None:
    answer = api.delete(PATH)

    assert (answer.status_code, answer.content) == (204, b"")
    assert (row().status, row().reason) == (ScheduledStatus.CANCELLED, None)
    assert dispatch.dispatch_batch(Lane(message.channel_id, 0), now=timezone.now() + timedelta(days=1)).is_empty
    assert api.get(PATH).json()["status"] == "CANCELLED"
    assert not counts.check().total


@ACTS
@pytest.mark.parametrize("ended", [(101, "already_dispatched"), (102, "already_cancelled"), (103, "set_aside")])
def test_what_does_not_wait_any_more_is_409(
    api: Client, message: ScheduledMessage, name: str, status: int, ended: tuple[int, str]
) -> None:
    end, code = ended
    ScheduledMessage.objects.update(status=end)
    before = ScheduledMessage.objects.values().get()

    problem(act(api, name), 409, code)
    assert ScheduledMessage.objects.values().get() == before


@ACTS
def test_there_must_be_such_a_message(api: Client, channel: Channel, name: str, status: int) -> None:
    problem(act(api, name), 404, "unknown_scheduled_message")
    registry_services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    problem(act(api, name), 404, "unknown_channel")


def test_everything_of_a_message_can_be_changed(api: Client, message: ScheduledMessage) -> None:
    body = {
        "scheduledFor": "2030-01-01T12:00:00+02:00",
        "payloadBase64": "AP8=",
        "contentType": "image/x",
        "headers": {"X-Name": "Zoë"},
        "priority": -7,
    }

    answer = patch(api, body)

    assert answer.status_code == 200
    assert answer.json() == api.get(PATH).json()
    shown = {name: answer.json()[name] for name in ("payloadBase64", "contentType", "headers", "priority", "status")}
    assert shown == {**{name: body[name] for name in shown if name != "status"}, "status": "SCHEDULED"}
    assert answer.json()["dispatchSchedule"] == "2030-01-01T10:00:00Z"
    assert bytes(row().payload) == b"\0\xff"


def test_what_is_left_out_stays_and_null_is_the_default_again(api: Client, channel: Channel) -> None:
    given = {"payload": b"x", "content_type": "text/x", "headers": {"X-A": "1"}, "priority": 5}
    before = make_scheduled(channel, make_producer(), "m", **given)

    assert patch(api, {"payload": {"a": [1]}}).status_code == 200
    assert (bytes(row().payload), row().content_type) == (b'{"a":[1]}', "text/x")
    assert (row().headers, row().priority, row().due_at) == ({"X-A": "1"}, 5, before.due_at)
    assert patch(api, {"contentType": None, "headers": None, "PRIORITY": None}).status_code == 200
    assert (row().content_type, row().headers, row().priority) == ("application/octet-stream", {}, 0)
    assert bytes(row().payload) == b'{"a":[1]}'


@pytest.mark.parametrize(
    ("body", "status", "refusal"),
    [
        ({}, 400, ("nothing_to_change", None)),
        ({"colour": "red"}, 400, ("unknown_field", "colour")),
        ({"messageId": "other"}, 400, ("unknown_field", "messageId")),
        ({"status": 101}, 400, ("unknown_field", "status")),
        ({"scheduledFor": None}, 400, ("invalid_scheduled_for", "scheduledFor")),
        ({"scheduledFor": "tomorrow"}, 400, ("invalid_scheduled_for", "scheduledFor")),
        ({"scheduledFor": "2030-01-01T12:00:00"}, 400, ("invalid_scheduled_for", "scheduledFor")),
        ({"scheduledFor": "9999-12-31T23:59:59.9999999Z"}, 400, ("invalid_scheduled_for", "scheduledFor")),
        ({"scheduledFor": ahead(minutes=1)}, 412, ("scheduled_too_soon", "scheduledFor")),
        ({"scheduledFor": ahead(days=-1)}, 412, ("scheduled_too_soon", "scheduledFor")),
        ({"payload": "a", "payloadBase64": "YQ=="}, 400, ("invalid_payload", "payload")),
        ({"payload": None}, 400, ("invalid_payload", "payload")),
        ({"payload": ""}, 400, ("empty_payload", "payload")),
        ({"payload": "\ud800"}, 400, ("invalid_payload", "payload")),
        ({"payloadBase64": "?"}, 400, ("invalid_payload", "payloadBase64")),
        ({"priority": "5"}, 400, ("invalid_priority", "priority")),
        ({"priority": 2**31}, 400, ("invalid_priority", "priority")),
        ({"headers": {"Host": "x"}}, 400, ("reserved_header", "headers")),
        ({"headers": {"X-A": "\n"}}, 400, ("invalid_header", "headers")),
        ({"contentType": "\0"}, 400, ("invalid_content_type", "contentType")),
        ({"priority": 1, "Priority": 2}, 400, ("repeated_field", "priority")),
    ],
)
def test_a_change_that_is_not_valid_changes_nothing(
    api: Client, message: ScheduledMessage, body: Any, status: int, refusal: tuple[str, str | None]
) -> None:
    code, field = refusal
    before = ScheduledMessage.objects.values().get()

    refused = problem(patch(api, body), status, code)

    assert [error["field"] for error in refused.get("errors", [])] == ([field] if field else [])
    assert ScheduledMessage.objects.values().get() == before


@pytest.mark.parametrize("body", ["[1]", "{", '"x"', "{" * 100_000])
def test_a_change_is_a_json_object(api: Client, message: ScheduledMessage, body: str) -> None:
    problem(api.patch(PATH, body, content_type="application/json"), 400, "parse_error")
    problem(
        api.patch(PATH, "priority=3", content_type="application/x-www-form-urlencoded"), 415, "unsupported_media_type"
    )


def test_a_new_time_keeps_what_the_row_was_spread_by(api: Client, channel: Channel) -> None:
    at = timezone.now() + timedelta(hours=1)
    make_scheduled(channel, make_producer(), "m", scheduled_for=at, due_at=at + timedelta(seconds=9))

    for text in ("2030-01-01T12:00:00Z", "9999-12-31T23:59:59.999999Z"):
        assert patch(api, {"scheduledFor": text}).status_code == 200

    assert row().due_at == row().scheduled_for == datetime.max.replace(tzinfo=UTC)
    assert patch(api, {"scheduledFor": "2030-01-01T12:00:00Z"}).status_code == 200
    assert row().due_at == row().scheduled_for


def test_a_spread_row_is_moved_by_what_it_is_now_and_not_by_what_was_read(channel: Channel) -> None:
    at = timezone.now() + timedelta(hours=1)
    read = make_scheduled(channel, make_producer(), "m", scheduled_for=at, due_at=at + timedelta(seconds=9))
    ScheduledMessage.objects.update(due_at=at + timedelta(seconds=3))

    services.reschedule(message=read, to=at + timedelta(hours=1), by="me")

    assert row().due_at - row().scheduled_for == timedelta(seconds=3)


@pytest.mark.django_db(transaction=True)
def test_dispatch_now_sends_it_at_once(api: Client, message: ScheduledMessage) -> None:
    answer = api.post(NOW_PATH)

    assert (answer.status_code, answer.json()["messageId"]) == (202, "m")
    assert dispatch.dispatch_batch(Lane(message.channel_id, 0)).messages == 1
    assert Message.objects.get().message_id == "m"
    assert row().scheduled_for == row().due_at


def test_dispatch_now_does_not_put_back_what_is_late(channel: Channel) -> None:
    """A release rate may hold it."""
    at = timezone.now() - timedelta(minutes=1)
    late = make_scheduled(channel, make_producer(), "m", scheduled_for=at, due_at=at + timedelta(seconds=5))

    services.dispatch_now(message=late, by="me")

    assert (row().scheduled_for, row().due_at) == (at, at + timedelta(seconds=5))


@ACTS
def test_the_producer_who_scheduled_it_may(stranger: Client, message: ScheduledMessage, name: str, status: int) -> None:
    assert act(stranger, name, TOKENS).status_code == status


@pytest.mark.parametrize("name", ["cancel", "change", "dispatch now"])
@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"X-Broker-Channel-Token": "wrong"}, (403, "wrong_token")),
        ({"X-Broker-Producer-Token": "wrong"}, (403, "wrong_token")),
        ({"X-Broker-Producer-Token": None}, (403, "wrong_token")),
        ({"X-Broker-Producer-ID": "nobody"}, (401, "unknown_producer")),
        ({"X-Broker-Producer-ID": "other"}, (403, "another_producers_message")),
        ({"X-Broker-Channel-Token": None}, (401, "not_authenticated")),
        ({"X-Broker-Producer-ID": None}, (401, "not_authenticated")),
    ],
)
def test_nobody_else_may(
    stranger: Client, message: ScheduledMessage, name: str, changed: Any, refusal: tuple[int, str]
) -> None:
    make_producer("other", token="sell")
    headers = {key: value for key, value in {**TOKENS, **changed}.items() if value is not None}
    before = ScheduledMessage.objects.values().get()

    problem(act(stranger, name, headers), *refusal)
    assert ScheduledMessage.objects.values().get() == before


def test_a_producer_without_its_token_is_told_which_header_to_send(stranger: Client, message: ScheduledMessage) -> None:
    headers = {name: value for name, value in TOKENS.items() if name != "X-Broker-Producer-Token"}

    assert act(stranger, "cancel", headers).json()["detail"] == "Missing: X-Broker-Producer-Token."


@ACTS
def test_staff_may_with_the_permission_only(message: ScheduledMessage, name: str, status: int) -> None:
    client = log_in("view_scheduledmessage")
    assert act(client, name).status_code == 403

    permission = "delete_scheduledmessage" if name == "cancel" else "change_scheduledmessage"
    User.objects.get().user_permissions.add(Permission.objects.get(codename=permission))
    assert act(client, name).status_code == status


def test_who_acted_is_logged(api: Client, stranger: Client, channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    make_scheduled(channel, make_producer(token="sell"), "m")
    with caplog.at_level("INFO"):
        patch(api, {"priority": 1})
        act(stranger, "cancel", TOKENS)

    assert "api key" in caplog.text
    assert "producer shop" in caplog.text
    assert "sell" not in caplog.text


class Waiting:
    """A call in a thread of its own, with a connection of its own, that waits for a row."""

    def __init__(self, call: Any) -> None:
        self.answer: Any = None
        self._call = call
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._call()
        finally:
            connections.close_all()

    def until_it_waits(self) -> "Waiting":
        wait_until(somebody_waits, 20)
        return self

    def join(self) -> Any:
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
        return self.answer


@ACTS
@pytest.mark.django_db(transaction=True)
def test_an_act_that_waits_for_the_dispatch_hears_that_it_lost(
    api: Client, message: ScheduledMessage, name: str, status: int
) -> None:
    lane = Lane(message.channel_id, 0)

    with transaction.atomic():
        assert dispatch.dispatch_batch(lane, now=timezone.now() + timedelta(days=1)).messages == 1
        waiting = Waiting(lambda: act(api, name)).until_it_waits()

    problem(waiting.join(), 409, "already_dispatched")
    assert Message.objects.count() == 1
    assert row().status == ScheduledStatus.DISPATCHED


@pytest.mark.django_db(transaction=True)
def test_a_dispatch_passes_over_what_is_being_cancelled(message: ScheduledMessage) -> None:
    lane, late = Lane(message.channel_id, 0), timezone.now() + timedelta(days=1)

    with transaction.atomic():
        services.cancel(message=message, by="me")
        assert Waiting(lambda: dispatch.dispatch_batch(lane, now=late)).join().is_empty

    assert dispatch.dispatch_batch(lane, now=late).is_empty
    assert (row().status, Message.objects.count()) == (ScheduledStatus.CANCELLED, 0)


def test_messages_of_a_deleted_channel_are_cancelled_however_far_ahead(
    channel: Channel, message: ScheduledMessage, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer.objects.get()
    monkeypatch.setattr("scheduling_app.gone.MOST", 2)
    for number in range(5):
        at = timezone.now() + timedelta(days=1000 * number)
        make_scheduled(channel, producer, f"far-{number}", scheduled_for=at, partition=number % 3)
    sent = make_scheduled(channel, producer, "sent", status=ScheduledStatus.DISPATCHED)
    registry_services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    kept = make_scheduled(make_channel("orders"), producer, "of-the-next")

    tasks.cancel_gone()
    tasks.cancel_gone()

    gone = ScheduledMessage.objects.filter(channel=channel).exclude(pk=sent.pk)
    assert set(gone.values_list("status", "reason")) == {(ScheduledStatus.CANCELLED, "channel_gone")}
    assert gone.count() == 6
    assert list(ScheduledMessage.objects.waiting()) == [kept]
    sent.refresh_from_db()
    assert sent.status == ScheduledStatus.DISPATCHED
    assert not counts.check().total
