"""Operations over HTTP."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from channels_app.models import Channel, Operation
from channels_app.operations import runner
from tests.channels_app.messages import make_messages
from tests.channels_app.operations.raising import Raise, registered, start
from tests.channels_app.registry import make_channel, problem
from tests.channels_app.staff import log_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    registered(Raise())
    channel = make_channel()
    make_messages(channel, "a", "b", "c", "d", "e")
    return channel


def test_an_operation_shows_how_far_it_is(api: Client, channel: Channel) -> None:
    operation = start(channel)
    runner.run_step(operation.pk)

    shown = api.get(f"/operations/{operation.public_id}").json()

    times = {name: shown.pop(name) for name in ("createdAt", "startedAt", "finishedAt")}
    assert shown == {
        "id": operation.public_id,
        "kind": "raise",
        "channel": "orders",
        "parameters": {"by": 1},
        "status": "RUNNING",
        "total": 5,
        "done": 2,
        "failed": 0,
        "progress": 0.4,
        "askedBy": "me",
        "stoppedBy": "",
        "resumedBy": "",
        "lastError": "",
    }
    assert times["createdAt"] <= times["startedAt"]
    assert times["finishedAt"] is None


def test_stop_and_resume_answer_with_the_operation(
    api: Client, channel: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    operation = start(channel)
    path = f"/operations/{operation.public_id}"
    runner.run_step(operation.pk)

    with caplog.at_level("INFO"):
        stopped = api.post(f"{path}/stop")
        assert (stopped.status_code, stopped.json()["status"]) == (202, "STOPPING")
        runner.run(operation.pk, seconds=20)
        problem(api.post(f"{path}/stop"), 409, "operation_ended")
        resumed = api.post(f"{path}/resume")
        assert (resumed.status_code, resumed.json()["status"]) == (202, "RUNNING")
        problem(api.post(f"{path}/resume"), 409, "operation_not_stopped")

    assert resumed.json()["stoppedBy"] == resumed.json()["resumedBy"] != ""
    assert resumed.json()["stoppedBy"].startswith("api key bk_")
    assert "operation.asked_to_stop" in caplog.text
    assert "operation.resumed" in caplog.text


def test_the_list_has_pages_newest_first(api: Client, channel: Channel) -> None:
    ids = [start(channel).public_id for _ in range(3)]
    Operation.objects.filter(public_id=ids[0]).update(channel=None)

    first = api.get("/operations?limit=2").json()
    second = api.get(first["pages"]["next"]).json()

    assert [one["id"] for one in first["result"] + second["result"]] == ids[::-1]
    assert (second["result"][0]["channel"], list(second["pages"])) == (None, ["prev"])


def test_managers_only(stranger: Client, channel: Channel) -> None:
    path = f"/operations/{start(channel).public_id}"

    for answer in (stranger.get("/operations"), stranger.get(path), stranger.post(f"{path}/stop")):
        problem(answer, 401, "not_authenticated")
    staff = log_in("view_operation")
    assert staff.get(path).status_code == 200
    problem(staff.post(f"{path}/stop"), 403, "permission_denied")
    User.objects.get().user_permissions.add(Permission.objects.get(codename="change_operation"))
    assert staff.post(f"{path}/stop").json()["stoppedBy"] == "staff"


@pytest.mark.parametrize("operation_id", ["nothing", "%00", "a b", "x" * 300])
def test_an_unknown_operation_is_404(api: Client, operation_id: str) -> None:
    for answer in (
        api.get(f"/operations/{operation_id}"),
        api.post(f"/operations/{operation_id}/stop"),
        api.post(f"/operations/{operation_id}/resume"),
    ):
        problem(answer, 404, "unknown_operation")
