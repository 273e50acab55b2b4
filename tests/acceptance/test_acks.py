"""Acknowledgement over HTTP, with the real engine behind it."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

BOTH = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}
QUICK = {"retries": 1, "initialSeconds": 0.1}


class Pulled(Channel):
    """A channel with one consumer that acknowledges, and a client that has both tokens and no key."""

    def __init__(self, engine: Engine, channel: dict[str, Any], **consumer: Any) -> None:
        super().__init__(engine.web, uuid.uuid4().hex[:12])
        self.put("", token="open", **channel)
        self.put("/consumer/k", token="mine", **consumer)
        base = f"{engine.web.base_url}/channel/{self.name}/consumer/k"
        self.consumer_client = httpx.Client(base_url=base, headers=BOTH, timeout=20)

    def put(self, rest: str, **fields: Any) -> None:
        made = self.web.put(f"/channel/{self.name}{rest}", json=fields)
        assert made.status_code == 201, made.text

    def post(self, rest: str, document: Any) -> httpx.Response:
        return self.consumer_client.post(f"/{rest}", json=document)

    def acks(self, *acks: dict[str, Any]) -> list[str]:
        done = self.post("acks", list(acks))
        assert done.status_code == 200, done.text
        result = done.json()["result"]
        assert [one["jobId"] for one in result] == [ack["jobId"] for ack in acks]
        return [one["result"] for one in result]

    def job(self, job_id: str) -> Any:
        return self.consumer_client.get(f"/job/{job_id}").json()

    def queued(self, number: int) -> list[str]:
        """So many messages, published, as the ids of their jobs."""
        for _ in range(number):
            self.publish()
        wait_until(lambda: len(self._peek()) == number, 15)
        return [job["id"] for job in self._peek()]

    def taken(self, number: int = 1) -> list[str]:
        """The same, and the consumer has them."""
        job_ids = self.queued(number)
        for job_id in job_ids:
            assert self.post(f"job/{job_id}", {"nextState": "INFLIGHT"}).status_code == 202
        return job_ids

    def _peek(self) -> Any:
        return self.consumer_client.get("/queued-jobs").json()["result"]


@pytest.fixture
def pulled(engine: Engine) -> Pulled:
    return Pulled(engine, {}, type="pull")


def explicit(engine: Engine, receiver: Receiver, **fields: Any) -> Pulled:
    return Pulled(engine, {"retryPolicy": QUICK}, callbackUrl=f"{receiver.url}/hook", ackMode="explicit", **fields)


def test_an_explicit_push_that_is_acknowledged_later_is_delivered(engine: Engine, receiver: Receiver) -> None:
    channel = explicit(engine, receiver)
    location = channel.publish().headers["Location"]
    wait_until(lambda: len(receiver.deliveries) == 1, 15)
    sent = receiver.deliveries[0].headers
    job_id, attempt = sent["x-broker-job-id"], int(sent["x-broker-attempt"])
    wait_until(lambda: channel.job(job_id)["receivedAt"] is not None, 15)
    assert channel.statuses(location) == ["INFLIGHT"]

    results = channel.acks(
        {"jobId": job_id, "attempt": attempt, "status": "running", "deviceId": "press-3"},
        {"jobId": job_id, "attempt": attempt, "status": "COMPLETE", "timestamp": "2026-11-16T10:00:00+02:00"},
    )

    assert results == ["applied", "applied"]
    job = channel.job(job_id)
    assert (job["status"], job["deviceId"], job["deviceCompletedAt"]) == (
        "DELIVERED",
        "press-3",
        "2026-11-16T08:00:00Z",
    )
    assert job["publishedAt"] <= job["receivedAt"] <= job["startedAt"] <= job["completedAt"]
    task = channel.read(location.replace("/message/", "/task/"))
    assert (task["status"], [one["status"] for one in task["jobs"]]) == ("COMPLETE", ["DELIVERED"])


def test_an_explicit_push_that_nobody_acknowledges_is_retried_and_then_dead(engine: Engine, receiver: Receiver) -> None:
    channel = explicit(engine, receiver, ackTimeoutSeconds=0.3)
    location = channel.publish().headers["Location"]

    wait_until(lambda: channel.statuses(location) == ["DEAD"], 30)

    [job] = channel.read(location)["jobs"]
    assert (job["reason"], len(receiver.deliveries)) == ("ack_timeout", 2)
    assert [attempt["reason"] for attempt in job["attempts"]] == ["ack_timeout", "ack_timeout"]
    late = {"jobId": job["id"], "attempt": 1, "status": "COMPLETE"}
    assert channel.acks(late) == ["stale"]


def test_an_ack_frees_the_slot_for_the_next(engine: Engine, receiver: Receiver) -> None:
    channel = explicit(engine, receiver, maxInFlight=1)
    for _ in range(3):
        channel.publish()

    for number in range(1, 4):
        wait_until(lambda number=number: len(receiver.deliveries) == number, 15)  # type: ignore[misc]
        job_id = receiver.deliveries[-1].headers["x-broker-job-id"]
        assert channel.acks({"jobId": job_id, "status": "COMPLETE"}) == ["applied"]

    assert len({delivery.headers["x-broker-job-id"] for delivery in receiver.deliveries}) == 3


def test_a_job_that_failed_comes_back_and_the_last_failure_is_dead(engine: Engine) -> None:
    channel = Pulled(engine, {"retryPolicy": QUICK}, type="pull")
    [job_id] = channel.taken()

    assert channel.acks({"jobId": job_id, "attempt": 1, "status": "FAILED", "error": "jam"}) == ["applied"]
    wait_until(lambda: channel.job(job_id)["nextAttemptAt"] is None, 15)
    assert channel.post(f"job/{job_id}", {"nextState": "INFLIGHT"}).json()["attempt"] == 2
    assert channel.acks({"jobId": job_id, "status": "FAILED"}) == ["applied"]

    job = channel.job(job_id)
    assert (job["status"], job["reason"], job["failures"]) == ("DEAD", "nacked", 2)
    assert [attempt["error"] for attempt in job["attempts"]] == ["jam", ""]


def test_many_acks_are_answered_in_order_and_unknown_ones_are_logged(pulled: Pulled, engine: Engine) -> None:
    first, second = pulled.taken(2)

    results = pulled.acks(
        {"jobId": second, "status": "COMPLETE"},
        {"jobId": "not-a-number", "status": "COMPLETE"},
        {"jobId": first, "status": "RUNNING"},
        {"jobId": second, "status": "COMPLETE"},
        {"jobId": "9" * 40, "status": "FAILED"},
        {"jobId": second, "status": "FAILED"},
    )

    assert results == ["applied", "unknown", "applied", "duplicate", "unknown", "stale"]
    wait_until(lambda: "ack.unknown" in engine.broker.logs(), 5)
    assert "not-a-number" in engine.broker.logs()


def test_ten_thousand_acks_go_into_one_request_and_no_more(pulled: Pulled) -> None:
    [job_id] = pulled.taken()
    many = [{"jobId": str(number), "status": "RUNNING"} for number in range(10**12, 10**12 + 9_999)]

    results = pulled.acks(*many, {"jobId": job_id, "status": "COMPLETE"})

    assert results == ["unknown"] * 9_999 + ["applied"]
    refused = pulled.post("acks", [*many, *many[:2]])
    assert (refused.status_code, refused.json()["code"]) == (413, "too_many_items")


def test_bad_items_refuse_the_whole_request_by_their_places(pulled: Pulled) -> None:
    [job_id] = pulled.taken()

    refused = pulled.post(
        "acks",
        [
            {"jobId": job_id, "status": "COMPLETE"},
            {"jobId": 7, "status": "COMPLETE"},
            {"jobId": "7", "status": "DONE"},
            {"jobId": "7", "status": "FAILED", "retryAt": "tomorrow"},
            {"jobId": "7"},
            {"jobId": "7", "status": "RUNNING", "attempt": 0},
            {"jobId": "7", "status": "RUNNING", "colour": "red"},
            {"jobId": "7", "status": "RUNNING", "STATUS": "RUNNING"},
            {"jobId": "7", "status": "RUNNING", "deviceId": "a\u0000b"},
            "what",
        ],
    )

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_items")
    assert [error["field"] for error in refused.json()["errors"]] == [
        "[1].jobId",
        "[2].status",
        "[3].retryAt",
        "[4].status",
        "[5].attempt",
        "[6].colour",
        "[7].status",
        "[8].deviceId",
        "[9]",
    ]
    assert pulled.job(job_id)["status"] == "INFLIGHT"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{}", {}, 400, "invalid_document"),
        (b"[", {}, 400, "invalid_document"),
        (b"[" * 100_000, {}, 400, "invalid_document"),
        (b"[]", {"Content-Type": "text/plain"}, 415, "not_json"),
        (b"[]", {"X-Broker-Consumer-Token": "no"}, 403, "wrong_token"),
        (b"[]", {"X-Broker-Channel-Token": ""}, 403, "wrong_token"),
        (b"[" + b" " * (17 << 20) + b"]", {}, 413, "payload_too_large"),
    ],
)
def test_what_is_no_list_of_acks_is_refused(
    pulled: Pulled, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    refused = pulled.consumer_client.post(
        "/acks", content=body, headers={"Content-Type": "application/json", **headers}
    )

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_an_error_text_is_kept_to_a_kilobyte_whatever_is_in_it(pulled: Pulled) -> None:
    [job_id] = pulled.taken()
    text = json.dumps([{"jobId": job_id, "status": "FAILED", "error": "\u0000\ud800" + "é" * 2000}])

    done = pulled.consumer_client.post("/acks", content=text.encode(), headers={"Content-Type": "application/json"})

    assert done.status_code == 200
    [attempt] = pulled.job(job_id)["attempts"]
    assert attempt["error"] == "??" + "é" * 511


def test_acks_are_for_those_who_acknowledge(engine: Engine, receiver: Receiver) -> None:
    by_index = Pulled(engine, {}, type="pull", pullMode="index")
    by_answer = Pulled(engine, {}, callbackUrl=f"{receiver.url}/hook")

    for rest in ("acks", "extend"):
        assert by_index.post(rest, []).json()["code"] == "not_leasing"
        assert (by_answer.post(rest, []).status_code, by_answer.post(rest, []).json()["code"]) == (409, "not_acking")
    assert by_index.post("job/1", {"nextState": "INFLIGHT"}).json()["code"] == "not_leasing"


def test_a_deleted_consumer_s_work_ends_and_it_gets_404(pulled: Pulled, engine: Engine) -> None:
    pulled.taken()
    path = f"/channel/{pulled.name}/consumer/k"
    etag = engine.web.get(path).headers["ETag"]

    assert engine.web.delete(path, headers={"If-Match": etag}).status_code == 204

    wait_until(lambda: pulled.post("acks", []).status_code == 404, 5)
    [message] = engine.web.get(f"/channel/{pulled.name}/messages").json()["result"]
    wait_until(lambda: pulled.statuses(message) == ["DEAD"], 15)
    assert pulled.read(message)["jobs"][0]["reason"] == "consumer_gone"


def test_a_heartbeat_gives_more_time_to_the_attempt_that_has_it(pulled: Pulled) -> None:
    [job_id] = pulled.taken()

    done = pulled.post(
        "extend",
        [
            {"jobId": job_id, "attempt": 1, "leaseSeconds": 3000},
            {"jobId": job_id, "attempt": 2},
            {"jobId": "nobody", "attempt": 1},
        ],
    )

    assert done.status_code == 200
    first, second, third = done.json()["result"]
    assert first == {"jobId": job_id, "result": "applied", "leaseUntil": pulled.job(job_id)["leaseUntil"]}
    until = datetime.fromisoformat(first["leaseUntil"])
    assert until > datetime.now(UTC) + timedelta(seconds=2900)
    assert (second, third) == ({"jobId": job_id, "result": "stale"}, {"jobId": "nobody", "result": "unknown"})
    for bad in (0, 3601, "60", True, None):
        answered = pulled.post("extend", [{"jobId": job_id, "attempt": 1, "leaseSeconds": bad}]).status_code
        assert answered == (200 if bad is None else 400)


def test_a_job_goes_from_state_to_state(pulled: Pulled) -> None:
    [job_id] = pulled.queued(1)
    path = f"job/{job_id}"

    taken = pulled.post(path, {"nextState": "inflight", "deviceId": "d-1", "incrementalTimeout": 120})
    assert (taken.status_code, taken.json()["attempt"], taken.json()["deviceId"]) == (202, 1, "d-1")
    assert taken.json()["leaseUntil"] == pulled.job(job_id)["leaseUntil"]
    assert pulled.post(path, {"nextState": "INFLIGHT"}).status_code == 409
    assert pulled.post(path, {"nextState": "INFLIGHT", "deviceId": "d-1"}).status_code == 202
    assert pulled.post(path, {"nextState": "QUEUED"}).status_code == 202
    assert pulled.job(job_id)["failures"] == 0
    assert pulled.post(path, {"nextState": "DELIVERED"}).json()["code"] == "transition_not_allowed"
    assert pulled.post(path, {"nextState": "INFLIGHT"}).json()["attempt"] == 2
    assert pulled.post(path, {"nextState": "DELIVERED", "attempt": 1}).json()["code"] == "stale_attempt"
    assert pulled.post(path, {"nextState": "DELIVERED", "attempt": 2}).json() == {
        "attempt": 2,
        "leaseUntil": None,
        "deviceId": None,
    }
    assert pulled.post(path, {"nextState": "DELIVERED"}).status_code == 202
    assert pulled.post(path, {"nextState": "GONE"}).json()["errors"][0]["field"] == "nextState"
    assert pulled.post("job/nothing", {"nextState": "DEAD"}).status_code == 404


def test_the_frame_and_django_share_the_address_of_a_job(pulled: Pulled) -> None:
    [job_id] = pulled.queued(1)
    path = f"{pulled.consumer_client.base_url}job/{job_id}"

    assert httpx.get(path, headers=BOTH).json()["status"] == "QUEUED"
    assert httpx.head(path, headers=BOTH).status_code == 200
    assert httpx.post(path, headers=BOTH, json={"nextState": "INFLIGHT"}).status_code == 202
    refused = pulled.web.put(path)
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, DELETE, HEAD, OPTIONS, POST")


def test_acks_are_logged_and_counted(pulled: Pulled, engine: Engine) -> None:
    [job_id] = pulled.taken()
    pulled.acks({"jobId": job_id, "status": "RUNNING", "deviceId": "lamp-9"}, {"jobId": job_id, "status": "COMPLETE"})

    def counted(word: str) -> bool:
        lines = pulled.web.get("/metrics").text.splitlines()
        return any(pulled.name in line and word in line for line in lines)

    wait_until(
        lambda: counted('broker_acks_total{channel="' + pulled.name + '",result="applied",status="running"}'), 15
    )
    wait_until(lambda: counted("broker_first_ack_seconds_count"), 15)
    lines = [line for line in engine.broker.logs().splitlines() if "lamp-9" in line]
    assert len(lines) == 2
    assert any("INFLIGHT" in line and "RUNNING" in line for line in lines)
