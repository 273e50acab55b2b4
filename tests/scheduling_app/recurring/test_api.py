"""Recurring schedules over HTTP."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from channels_app.models import Channel, Producer
from scheduling_app import schedules
from scheduling_app.models import RecurringSchedule
from tests.channels_app.registry import make_channel, make_producer, problem, put
from tests.channels_app.staff import log_in
from tests.scheduling_app.recurring.schedules import make_schedule

pytestmark = pytest.mark.django_db

PATH = "/channel/orders/schedule/report"
BODY = {"producer": "shop", "cron": "30 6 * * 1-5", "timezone": "Europe/Berlin", "payload": "{{tick}}"}


@pytest.fixture(autouse=True)
def channel() -> Channel:
    return make_channel("orders", token="open")


@pytest.fixture(autouse=True)
def producer() -> Producer:
    return make_producer("shop")


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(path, body or {}, content_type="application/json")


def test_a_schedule_is_created_and_read(api: Client) -> None:
    made = put(api, PATH, {**BODY, "headers": {"X-A": "café"}})

    assert made.status_code == 201, made.content
    shown = api.get(PATH)
    assert shown.json() == made.json()
    expected = {
        "id": "report",
        "channel": "orders",
        "producer": "shop",
        "cron": "30 6 * * 1-5",
        "intervalSeconds": None,
        "timezone": "Europe/Berlin",
        "payload": "{{tick}}",
        "contentType": "application/octet-stream",
        "headers": {"X-A": "café"},
        "priority": 0,
        "endAt": None,
        "missed": "one",
        "overlap": "allow",
        "status": "active",
        "lastTickAt": None,
        "ticks": 0,
        "skipped": 0,
        "pausedAt": None,
        "pausedBy": "",
        "pausedNote": "",
        "previewUrl": f"{PATH}/preview",
    }
    assert expected.items() <= shown.json().items()
    at = parse_datetime(shown.json()["nextAt"])
    assert at
    assert f"{at.astimezone(ZoneInfo('Europe/Berlin')):%H:%M}" == "06:30"
    assert (shown["ETag"], shown["Last-Modified"]) == (made["ETag"], made["Last-Modified"])


def test_what_was_read_can_be_put_again_and_changes_nothing(api: Client) -> None:
    put(api, PATH, {**BODY, "priority": 5, "startAt": "2020-01-01T00:00:00Z"})
    read = api.get(PATH)

    again = put(api, PATH, read.json(), if_match=read["ETag"])

    assert again.status_code == 200, again.content
    assert again.json() | {"changedAt": ""} == read.json() | {"changedAt": ""}


def test_an_update_keeps_what_it_leaves_out_and_null_resets(api: Client) -> None:
    made = put(api, PATH, {**BODY, "priority": 5, "missed": "all"})

    changed = put(
        api, PATH, {"cron": None, "intervalSeconds": 60, "missed": None, "timezone": None}, if_match=made["ETag"]
    )

    body = changed.json()
    assert changed.status_code == 200
    assert (body["cron"], body["intervalSeconds"], body["missed"], body["timezone"]) == (None, 60, "one", "UTC")
    assert (body["priority"], body["payload"]) == (5, "{{tick}}")
    next_at = parse_datetime(body["nextAt"])
    assert next_at
    assert next_at - timezone.now() < timedelta(seconds=61)


def test_an_update_needs_to_know_the_state(api: Client) -> None:
    made = put(api, PATH, BODY)

    problem(put(api, PATH, BODY), 400, "precondition_missing")
    problem(put(api, PATH, BODY, if_match='"1-1"'), 412, "changed_meanwhile")
    problem(put(api, PATH, BODY, if_none_match="*"), 412, "already_exists")
    assert put(api, PATH, {"priority": 1}, if_unmodified_since=made["Last-Modified"]).status_code == 200
    problem(put(api, PATH, {"priority": 2}, if_match=made["ETag"]), 412, "changed_meanwhile")
    problem(put(api, f"{PATH}2", BODY, if_match='"1-1"'), 412, "changed_meanwhile")
    assert RecurringSchedule.objects.get().priority == 1


def test_a_payload_of_any_bytes_comes_back_as_base64(api: Client) -> None:
    body = {name: value for name, value in BODY.items() if name != "payload"}
    made = put(api, PATH, {**body, "payloadBase64": "/wB7e3RpY2t9fQ=="})

    assert made.json()["payloadBase64"] == "/wB7e3RpY2t9fQ=="
    assert "payload" not in made.json()
    assert bytes(RecurringSchedule.objects.get().payload) == b"\xff\x00{{tick}}"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"cron": "30 6 * *"}, "invalid_cron"),
        ({"cron": "61 6 * * *"}, "invalid_cron"),
        ({"cron": "@daily"}, "invalid_cron"),
        ({"cron": "0 0 30 2 *"}, "never_ticks"),
        ({"cron": "0 0 \x00 2 *"}, "invalid"),
        ({"cron": None}, "cron_or_interval"),
        ({"intervalSeconds": 5}, "cron_or_interval"),
        ({"cron": None, "intervalSeconds": 0}, "invalid"),
        ({"cron": None, "intervalSeconds": 0.5}, "invalid"),
        ({"cron": None, "intervalSeconds": "5"}, "invalid"),
        ({"cron": None, "intervalSeconds": 10**12}, "invalid"),
        ({"timezone": "Mars/Olympus"}, "invalid"),
        ({"timezone": "../../etc/passwd"}, "invalid"),
        ({"timezone": "europe/berlin"}, "invalid"),
        ({"timezone": "localtime"}, "invalid"),
        ({"startAt": "2030-01-01 00:00"}, "invalid"),
        ({"startAt": "2030-01-01T00:00:00"}, "invalid"),
        ({"startAt": "9999-12-31T23:59:59.999999999Z"}, "invalid"),
        ({"startAt": "0001-01-01T00:00:00+14:00"}, "invalid"),
        ({"startAt": 5}, "invalid"),
        ({"startAt": "2200-01-01T00:00:00Z"}, "never_ticks"),
        ({"endAt": "2020-01-01T00:00:00Z"}, "ends_before_start"),
        ({"startAt": "2019-01-01T00:00:00Z", "endAt": "2020-01-01T00:00:00Z"}, "never_ticks"),
        ({"missed": "some"}, "invalid"),
        ({"overlap": "some"}, "invalid"),
        ({"priority": 2**31}, "invalid"),
        ({"payload": ""}, "invalid"),
        ({"payload": None}, "invalid"),
        ({"payload": "\ud800"}, "invalid"),
        ({"payload": {"a": 1}}, "invalid"),
        ({"payloadBase64": "eA=="}, "invalid"),
        ({"contentType": "text/plain\r\nX: y"}, "invalid"),
        ({"headers": {"Host": "x"}}, "reserved_header"),
        ({"headers": {"X-A": "a\nb"}}, "invalid_header"),
        ({"headers": {"X-A": 1}}, "invalid"),
        ({"headers": ["X-A"]}, "invalid"),
        ({"producer": "nobody"}, "unknown_schedule_producer"),
        ({"producer": None}, "invalid"),
        ({"colour": "red"}, "invalid"),
    ],
)
def test_what_is_not_right_is_400_and_changes_nothing(api: Client, change: dict[str, Any], code: str) -> None:
    problem(put(api, PATH, {**BODY, **change}), 400, code)
    assert not RecurringSchedule.objects.exists()


@pytest.mark.parametrize("missing", ["producer", "payload", "cron"])
def test_a_new_schedule_needs_what_it_cannot_do_without(api: Client, missing: str) -> None:
    body = {name: value for name, value in BODY.items() if name != missing}
    problem(put(api, PATH, body), 400, "schedule_incomplete")


def test_a_payload_that_grows_too_large_is_refused(api: Client, settings: Any) -> None:
    settings.MAX_PAYLOAD_BYTES = 1_000
    name = "r" * 200
    assert put(api, f"/channel/orders/schedule/{name}", {**BODY, "payload": "{{schedule}}" * 5}).status_code == 201
    problem(
        put(api, f"/channel/orders/schedule/{name[1:]}", {**BODY, "payload": "{{schedule}}" * 6}),
        413,
        "payload_too_large",
    )


@pytest.mark.parametrize("name", ["r" * 201, "a%20b", "a%00b"])
def test_an_id_that_cannot_be_one_is_refused(api: Client, name: str) -> None:
    problem(put(api, f"/channel/orders/schedule/{name}", BODY), 400, "invalid_schedule_id")
    problem(api.get(f"/channel/orders/schedule/{name}"), 404, "unknown_schedule")


def test_a_channel_without_delayed_messaging_takes_no_new_schedule(api: Client, channel: Channel) -> None:
    made = put(api, PATH, BODY)
    Channel.objects.update(delayed_messaging=False)

    problem(put(api, f"{PATH}2", BODY), 400, "delayed_messaging_disabled")
    assert put(api, PATH, {"priority": 1}, if_match=made["ETag"]).status_code == 200


def test_unknown_channels_and_schedules_are_404(api: Client) -> None:
    for path in ("", "/preview"):
        problem(api.get(f"/channel/nowhere/schedule/report{path}"), 404, "unknown_channel")
        problem(api.get(f"{PATH}{path}"), 404, "unknown_schedule")
    for act in ("pause", "resume"):
        problem(post(api, f"{PATH}/{act}"), 404, "unknown_schedule")
    problem(api.get("/channel/nowhere/schedules"), 404, "unknown_channel")
    problem(put(api, "/channel/nowhere/schedule/report", BODY), 404, "unknown_channel")
    problem(api.delete(PATH), 404, "unknown_schedule")


def test_the_list_is_paged(api: Client, channel: Channel, producer: Producer) -> None:
    for number in range(3):
        make_schedule(channel, producer, f"s{number}")
    make_schedule(make_channel("other"), producer, "elsewhere")

    first = api.get("/channel/orders/schedules?limit=2").json()
    second = api.get(first["pages"]["next"]).json()

    assert first["result"] == ["/channel/orders/schedule/s2", "/channel/orders/schedule/s1"]
    assert second["result"] == ["/channel/orders/schedule/s0"]


def test_a_deleted_schedule_is_gone_and_its_id_is_free(api: Client) -> None:
    made = put(api, PATH, BODY)
    problem(api.delete(PATH), 400, "precondition_missing")
    problem(api.delete(PATH, headers={"If-Match": '"1-1"'}), 412, "changed_meanwhile")

    assert api.delete(PATH, headers={"If-Match": made["ETag"]}).status_code == 204

    problem(api.get(PATH), 404, "unknown_schedule")
    assert api.get("/channel/orders/schedules").json()["result"] == []
    assert put(api, PATH, BODY).status_code == 201
    assert RecurringSchedule.objects.count() == 2


def test_a_pause_says_who_and_why_and_moves_no_time_of_change(api: Client) -> None:
    made = put(api, PATH, BODY)

    paused = post(api, f"{PATH}/pause", {"note": "until the move"}).json()

    assert (paused["status"], paused["pausedNote"], paused["nextAt"]) == ("paused", "until the move", None)
    assert paused["pausedBy"].startswith("api key bk_")
    assert post(api, f"{PATH}/pause", {"note": "again"}).json() == paused
    resumed = post(api, f"{PATH}/resume").json()
    assert resumed == made.json()
    assert post(api, f"{PATH}/resume").json() == made.json()


def test_a_pause_takes_a_note_and_nothing_else(api: Client) -> None:
    put(api, PATH, BODY)
    for body in ({"note": 5}, {"note": "x" * 256}, {"because": "x"}):
        problem(post(api, f"{PATH}/pause", body), 400, "invalid")
    assert api.get(PATH).json()["status"] == "active"


def test_a_preview_shows_the_next_ticks_by_both_clocks(api: Client, channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, cron="30 2 * * *", timezone="Europe/Berlin")
    schedules.pause(schedule, by="ada")

    body = api.get(f"{PATH}/preview").json()
    three = api.get(f"{PATH}/preview?count=3").json()

    assert len(body["result"]) == 10
    assert three["result"] == body["result"][:3]
    assert [parse_datetime(one["at"]) for one in body["result"]] == [
        parse_datetime(one["localTime"]) for one in body["result"]
    ]
    assert all("T02:30:00" in one["localTime"] or "T03:00:00" in one["localTime"] for one in body["result"])


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_a_time_zone_that_is_unknown_here_is_told_and_can_be_mended(api: Client, missed: str) -> None:
    put(api, PATH, {**BODY, "missed": missed})
    RecurringSchedule.objects.update(timezone="Mars/Olympus")
    assert post(api, f"{PATH}/pause").json()["status"] == "paused"

    read = api.get(PATH)
    assert read.json()["timezone"] == "Mars/Olympus"
    refused = problem(api.get(f"{PATH}/preview"), 409, "schedule_unreadable")
    assert "Mars/Olympus" in refused["detail"]
    problem(post(api, f"{PATH}/resume"), 409, "schedule_unreadable")
    problem(put(api, PATH, {"cron": "0 7 * * *"}, if_match=read["ETag"]), 409, "schedule_unreadable")
    assert api.get(PATH).json() == read.json()

    mended = put(api, PATH, {"timezone": "Europe/Berlin"}, if_match=read["ETag"])
    assert mended.status_code == 200, mended.content
    assert post(api, f"{PATH}/resume").json()["status"] == "active"


def test_a_cron_expression_that_is_not_understood_here_is_told(api: Client) -> None:
    put(api, PATH, BODY)
    RecurringSchedule.objects.update(cron="@daily")

    problem(api.get(f"{PATH}/preview"), 409, "schedule_unreadable")


@pytest.mark.parametrize("count", ["0", "101", "-1", "x", "1e1", ""])
def test_a_count_that_is_none_is_400(api: Client, count: str) -> None:
    put(api, PATH, BODY)
    problem(api.get(f"{PATH}/preview?count={count}"), 400, "bad_count")


def test_a_channel_token_opens_reads_only(api: Client, stranger: Client) -> None:
    made = put(api, PATH, BODY)
    opened, wrong = {"X-Broker-Channel-Token": "open"}, {"X-Broker-Channel-Token": "guess"}

    for path in (PATH, f"{PATH}/preview", "/channel/orders/schedules"):
        assert stranger.get(path, headers=opened).status_code == 200
        problem(stranger.get(path, headers=wrong), 403, "wrong_token")
        problem(stranger.get(path), 401, "not_authenticated")
    problem(put(stranger, PATH, BODY, X_Broker_Channel_Token="open", if_match=made["ETag"]), 401, "not_authenticated")
    problem(stranger.delete(PATH, headers={**opened, "If-Match": made["ETag"]}), 401, "not_authenticated")
    for act in ("pause", "resume"):
        problem(stranger.post(f"{PATH}/{act}", headers=opened), 401, "not_authenticated")


@pytest.mark.parametrize("permissions", [[], ["change_recurringschedule"]])
def test_staff_write_with_the_permission_only(api: Client, permissions: list[str]) -> None:
    put(api, PATH, BODY)
    answer = post(log_in(*permissions), f"{PATH}/pause")

    assert answer.status_code == (200 if permissions else 403)
    assert RecurringSchedule.objects.get().paused_by == ("staff" if permissions else "")
