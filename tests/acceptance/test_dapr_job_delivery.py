"""Jobs with real workers: the data reaches the consumers of {app-id}-jobs, with the name of its job."""

import uuid
from typing import Any

import pytest

from tests.acceptance.dapr import App
from tests.acceptance.engine import Engine
from tests.acceptance.receiver import Delivery, Receiver
from tests.acceptance.servers import wait_until


@pytest.fixture
def app(engine: Engine, receiver: Receiver) -> App:
    """An application that has a consumer for its jobs."""
    made = App(engine.web, uuid.uuid4().hex[:12])
    channel = f"/channel/{made.app_id}-jobs"
    engine.web.put(channel, json={"answers": "dapr"}).raise_for_status()
    engine.web.put(f"{channel}/consumer/k", json={"callbackUrl": f"{receiver.url}/hook"}).raise_for_status()
    return made


def named(receiver: Receiver, name: str) -> list[Delivery]:
    return [one for one in list(receiver.deliveries) if one.headers["dapr-job-name"] == name]


def schedule(app: App, name: str, **job: Any) -> None:
    done = app.schedule(name, **job)
    assert done.status_code == 204, done.text


def test_a_job_runs_once_at_its_time_and_is_gone(app: App, receiver: Receiver) -> None:
    # Far enough for a busy machine to look before it is gone.
    schedule(app, "backup", dueTime="5s", data={"db": "my-prod-db"})
    assert app.get("backup").status_code == 200

    wait_until(lambda: len(named(receiver, "backup")) == 1, 30)

    [delivery] = named(receiver, "backup")
    assert (delivery.body, delivery.headers["content-type"]) == (b'{"db":"my-prod-db"}', "application/json")
    assert delivery.message_id.startswith("backup-")
    assert app.get("backup").status_code == 404
    schedule(app, "backup", dueTime="0s", data="again")
    wait_until(lambda: len(named(receiver, "backup")) == 2, 30)


def test_a_schedule_runs_as_often_as_it_repeats(app: App, receiver: Receiver) -> None:
    schedule(app, "pulse", schedule="@every 1s", repeats=3, data="{{tick}}")
    schedule(app, "seconds", schedule="*/1 * * * * *", repeats=2)
    schedule(app, "iso", schedule="R2/PT1S", dueTime="0s", data=[1])

    wait_until(lambda: {app.get(name).status_code for name in ("pulse", "seconds", "iso")} == {404}, 60)
    wait_until(lambda: len(receiver.deliveries) >= 7, 30)

    assert [one.body for one in named(receiver, "pulse")] == [b'"{{tick}}"'] * 3
    assert [one.body for one in named(receiver, "seconds")] == [b"null"] * 2
    assert [one.body for one in named(receiver, "iso")] == [b"[1]"] * 2


def test_a_deleted_or_overwritten_job_does_not_run(app: App, receiver: Receiver) -> None:
    schedule(app, "gone", dueTime="2s", data="never")
    schedule(app, "changed", dueTime="2s", data="old")
    assert app.delete("gone").status_code == 204
    schedule(app, "changed", dueTime="1s", data="new", overwrite=True)
    schedule(app, "last", dueTime="3s")

    wait_until(lambda: bool(named(receiver, "last")), 30)

    assert named(receiver, "gone") == []
    assert [one.body for one in named(receiver, "changed")] == [b'"new"']


def test_a_name_of_other_letters_arrives_as_it_is(app: App, receiver: Receiver) -> None:
    schedule(app, "%C3%BCber%20alles", dueTime="0s")

    wait_until(lambda: len(receiver.deliveries) == 1, 30)

    assert receiver.deliveries[0].headers["dapr-job-name"].encode("latin1").decode() == "über alles"
