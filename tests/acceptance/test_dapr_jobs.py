"""Dapr's jobs over HTTP, as its clients see them; and its health and metadata."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from dapr.clients.health import DaprHealth
from dapr.conf import settings as dapr_settings

from tests.acceptance.dapr import App, load_components, refused
from tests.acceptance.servers import Broker, wait_until


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    return broker.serve()


@pytest.mark.parametrize("version", ["v1.0", "v1.0-alpha1"])
def test_a_job_is_scheduled_shown_and_deleted(web: httpx.Client, version: str) -> None:
    app = App(web, f"one-{version}")
    job: dict[str, Any] = {
        "data": {"db": "my-prod-db"},
        "dueTime": "1h",
        "failurePolicy": {"constant": {"maxRetries": 3}},
    }

    made = app.schedule("backup", version, **job)
    assert (made.status_code, made.content) == (204, b"")
    assert app.call("GET", f"/{version}/jobs/backup").json() == {"name": "backup", **job}
    assert app.waiting() == 1

    assert app.call("DELETE", f"/{version}/jobs/backup").status_code == 204
    refused(app.get("backup"), 404, "DAPR_SCHEDULER_GET_JOB")
    refused(app.delete("backup"), 404, "DAPR_SCHEDULER_DELETE_JOB")
    assert app.schedule("backup", version, **job).status_code == 204
    assert app.waiting() == 1


def test_a_schedule_is_shown_as_it_was_asked_for(web: httpx.Client) -> None:
    app = App(web, "two")
    job: dict[str, Any] = {
        "schedule": "0 30 6 * * *",
        "dueTime": "1h",
        "repeats": 5,
        "ttl": "P30D",
        "data": "Running spice",
    }

    assert app.schedule("jabba", **job).status_code == 204
    assert app.get("jabba").json() == {"name": "jabba", **job}
    schedule = web.get("/channel/two-jobs/schedule/jabba").json()
    assert (schedule["cron"], schedule["payload"], schedule["producer"]) == ("0 30 6 * * *", '"Running spice"', "two")

    assert app.delete("jabba").status_code == 204
    refused(app.get("jabba"), 404, "DAPR_SCHEDULER_GET_JOB")
    assert web.get("/channel/two-jobs/schedule/jabba").status_code == 404


def test_a_name_is_taken_until_it_is_overwritten(web: httpx.Client) -> None:
    app = App(web, "three")
    assert app.schedule("a", dueTime="1h", data=1).status_code == 204

    # By the short way in, and by the long one.
    for _ in range(2):
        refused(app.schedule("a", dueTime="2h"), 409, "DAPR_SCHEDULER_SCHEDULE_JOB")
    refused(app.schedule("a", schedule="@daily"), 409, "DAPR_SCHEDULER_SCHEDULE_JOB")
    assert app.get("a").json()["data"] == 1

    assert app.schedule("a", dueTime="2h", overwrite=True, data=2).status_code == 204
    assert (app.get("a").json()["data"], app.waiting()) == (2, 1)
    assert app.schedule("a", schedule="@daily", overwrite=True, data=3).status_code == 204
    assert (app.get("a").json()["data"], app.waiting()) == (3, 0)
    assert app.schedule("a", dueTime="2h", overwrite=True, data=4).status_code == 204
    assert (app.get("a").json()["data"], app.waiting()) == (4, 1)


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("a", {}, "DAPR_SCHEDULER_SCHEDULE_EMPTY"),
        ("a", {"name": "a", "dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME"),
        ("a", [], "DAPR_SCHEDULER_SCHEDULE_JOB"),
        ("a", {"dueTime": "soon"}, "DAPR_SCHEDULER_SCHEDULE_JOB"),
        ("a", {"schedule": "never"}, "DAPR_SCHEDULER_SCHEDULE_JOB"),
        ("a", {"dueTime": "1s", "repeats": 0}, "DAPR_SCHEDULER_SCHEDULE_JOB"),
        ("a", {"dueTime": "1s", "data": "\x00", "ttl": "0s"}, "DAPR_SCHEDULER_SCHEDULE_JOB"),
        ("", {"dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME_EMPTY"),
        ("%20", {"dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME_EMPTY"),
        ("a%7Cb", {"dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME_EMPTY"),
        ("a%00b", {"dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME_EMPTY"),
        ("x" * 201, {"dueTime": "1s"}, "DAPR_SCHEDULER_JOB_NAME"),
    ],
)
def test_a_bad_job_is_refused_and_nothing_is_stored(web: httpx.Client, name: str, body: Any, reason: str) -> None:
    app = App(web, "four")
    before = app.schedule("present", dueTime="1h", overwrite=True)
    assert before.status_code == 204

    refused(app.call("POST", f"/v1.0/jobs/{name}", content=json.dumps(body)), 400, reason)
    assert app.waiting() == 1


def test_a_body_that_is_no_json_or_too_large_is_refused(web: httpx.Client) -> None:
    app = App(web, "four")
    refused(app.call("POST", "/v1.0/jobs/a", content=b"\xff{"), 400, "DAPR_SCHEDULER_SCHEDULE_JOB")
    refused(app.call("POST", "/v1.0/jobs/a", content=b"x" * (1024 * 1024 + 1)), 413, "DAPR_SCHEDULER_SCHEDULE_JOB")
    patched = app.call("PATCH", "/v1.0/jobs/a")
    assert (patched.status_code, patched.json()["errorCode"]) == (405, "ERR_MALFORMED_REQUEST")


def test_who_has_no_token_schedules_nothing(web: httpx.Client) -> None:
    stranger = App(web, "five", "wrong")
    assert stranger.schedule("a", dueTime="1h").status_code == 401
    assert stranger.get("a").status_code == 401
    assert stranger.delete("a").status_code == 401
    assert stranger.call("GET", "/v1.0/metadata").status_code == 401
    assert web.get("/channel/five-jobs").status_code == 404


def test_a_producers_token_is_enough(web: httpx.Client) -> None:
    web.put("/producer/six", json={"token": "sixth"})
    six, seven = App(web, "", "sixth"), App(web, "six")

    assert six.schedule("a", dueTime="1h").status_code == 204
    assert seven.get("a").status_code == 200
    assert web.get("/channel/six-jobs").json()["id"] == "six-jobs"


def test_names_of_any_letters_are_told_apart(web: httpx.Client) -> None:
    app = App(web, "eight")
    for name in ("a b", "a~20b", "ü", "A", "a"):
        assert app.schedule(httpx.URL(f"http://x/{name}").raw_path.decode()[1:], dueTime="1h").status_code == 204
    assert app.waiting() == 5
    assert app.get("%C3%BC").json()["name"] == "ü"


def test_many_at_once_are_stored_each_once(web: httpx.Client) -> None:
    app = App(web, "nine")
    assert app.schedule("first", dueTime="1h").status_code == 204

    with ThreadPoolExecutor(16) as threads:
        done = list(threads.map(lambda number: app.schedule(f"job{number % 50}", dueTime="1h"), range(100)))

    assert sorted(answer.status_code for answer in done) == [204] * 50 + [409] * 50
    assert app.waiting() == 51


def test_limits_of_the_channel_count_here_too(web: httpx.Client) -> None:
    app = App(web, "ten")
    assert app.schedule("a", dueTime="1h").status_code == 204
    etag = web.get("/channel/ten-jobs").headers["ETag"]
    web.put(
        "/channel/ten-jobs", json={"rateLimit": {"perSecond": 0.001, "burst": 1}}, headers={"If-Match": etag}
    ).raise_for_status()

    # A process hears of it within a second.
    wait_until(lambda: app.schedule("a", dueTime="1h", overwrite=True).status_code == 429, 20)
    last = app.schedule("b", dueTime="1h")
    refused(last, 429, "DAPR_SCHEDULER_SCHEDULE_JOB")
    assert int(last.headers["Retry-After"]) >= 1
    refused(app.get("b"), 404, "DAPR_SCHEDULER_GET_JOB")


def test_health_is_open(web: httpx.Client) -> None:
    for path in ("/v1.0/healthz", "/v1.0/healthz/outbound"):
        answer = httpx.get(f"{web.base_url}{path}")
        assert (answer.status_code, answer.content) == (204, b"")


def test_the_python_sdk_finds_a_healthy_sidecar(web: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dapr_settings, "DAPR_HTTP_ENDPOINT", str(web.base_url).rstrip("/"), raising=False)
    monkeypatch.setattr(dapr_settings, "DAPR_HEALTH_TIMEOUT", "5", raising=False)
    DaprHealth.wait_for_sidecar()


def test_metadata_names_the_application_and_its_components(web: httpx.Client, broker: Broker) -> None:
    load_components(broker)
    told = App(web, "eleven").call("GET", "/v1.0/metadata").json()
    assert (told["id"], told["actors"], told["subscriptions"]) == ("eleven", [], [])
    components = {one["name"]: one for one in told["components"]}
    assert "DELAYED_MESSAGING" in components["later"]["capabilities"]
    assert "DELAYED_MESSAGING" not in components["events"]["capabilities"]
    assert components["later"]["type"] == "pubsub.broker"


def test_an_application_whose_channel_would_have_too_long_an_id_is_refused(web: httpx.Client) -> None:
    app = App(web, "a" * 251)
    refused(app.schedule("x", dueTime="1h"), 400, "DAPR_SCHEDULER_SCHEDULE_JOB")
    refused(app.get("x"), 400, "DAPR_SCHEDULER_SCHEDULE_JOB")


def test_an_application_with_a_tilde_finds_its_jobs_again(web: httpx.Client) -> None:
    app = App(web, "til~de")
    assert app.schedule("x", dueTime="1h").status_code == 204
    assert app.schedule("x", dueTime="1h").status_code == 409
    assert app.get("x").status_code == 200
