"""The worker loop: every job told of, none left behind when it stops."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from broker_client import Forbidden, Job, Reject, Retry, Worker
from tests.acceptance.servers import wait_until
from tests.broker_client.conftest import QUICK, TOKENS
from tests.broker_client.small_broker import LOST, Mishap, Said, SmallBroker, busy


def worker_of(small: SmallBroker, *, grace_seconds: float = 20.0) -> Worker:
    return Worker(small.url, grace_seconds=grace_seconds, wait_seconds=5, retries=QUICK, device_id="here", **TOKENS)


@contextmanager
def running(app: Worker) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=app.run)
    thread.start()
    try:
        yield thread
    finally:
        app.stop()
        thread.join(timeout=30)
        assert not thread.is_alive()


def all_are(small: SmallBroker, status: str) -> bool:
    return all(job.status == status for job in list(small.jobs.values()))


def test_a_plain_function_is_given_jobs_and_they_are_complete(small: SmallBroker) -> None:
    small.put_jobs("a", "b", "c")
    app, seen = worker_of(small), []

    @app.consumer("orders", consumer="billing", concurrency=2)
    def bill(job: Job) -> None:
        seen.append(job.text())

    with running(app):
        wait_until(lambda: all_are(small, "DELIVERED"), 20)
        small.put_jobs("later")
        wait_until(lambda: all_are(small, "DELIVERED"), 20)

    assert sorted(seen) == ["a", "b", "c", "later"]
    assert {tuple(job.history) for job in small.jobs.values()} == {("RUNNING", "COMPLETE")}
    assert {ack["deviceId"] for heard in small.of("acks") for ack in heard.json()} == {"here"}


def test_an_async_function_works_on_as_many_at_once_as_it_says(small: SmallBroker) -> None:
    small.put_jobs(*"abcdef")
    app, at_once = worker_of(small), [0, 0]

    @app.consumer("orders", consumer="billing", concurrency=3)
    async def bill(_job: Job) -> None:
        at_once[0] += 1
        at_once[1] = max(at_once)
        while at_once[1] < 3:
            await asyncio.sleep(0.01)
        at_once[0] -= 1

    with running(app):
        wait_until(lambda: all_are(small, "DELIVERED"), 20)
    assert at_once == [0, 3]


def test_a_consumer_without_a_name_is_called_as_its_function(small: SmallBroker) -> None:
    small.put_jobs("a")
    app = worker_of(small)

    @app.consumer("orders", token="mine", channel_token="open")
    def billing(_job: Job) -> None:
        pass

    with running(app):
        wait_until(lambda: all_are(small, "DELIVERED"), 20)
    first = small.of("lease")[0]
    assert first.path == "/channel/orders/consumer/billing/lease"
    assert (first.headers["x-broker-consumer-token"], first.headers["x-broker-channel-token"]) == ("mine", "open")


def test_what_a_function_raises_decides(small: SmallBroker) -> None:
    failed, later, unwanted = small.put_jobs("fail", "later", "reject")
    app = worker_of(small)

    @app.consumer("orders", consumer="billing", concurrency=3)
    def bill(job: Job) -> None:
        if job.text() == "later":
            raise Retry(in_seconds=60)
        if job.text() == "reject":
            raise Reject("no such order")
        raise ValueError("no stock")

    with running(app):
        wait_until(lambda: (failed.status, later.status, unwanted.status) == ("WAITING", "WAITING", "DEAD"), 20)

    failures = {ack["jobId"]: ack for heard in small.of("acks") for ack in heard.json() if ack["status"] == "FAILED"}
    assert failures[failed.id]["error"] == "ValueError: no stock"
    assert "retryAt" not in failures[failed.id]
    assert "retryAt" in failures[later.id]


def test_acks_of_quick_jobs_go_in_batches(small: SmallBroker) -> None:
    small.put_jobs(*(str(n) for n in range(200)))
    app = worker_of(small)

    @app.consumer("orders", consumer="billing", concurrency=50, prefetch=150)
    async def bill(_job: Job) -> None:
        pass

    with running(app):
        wait_until(lambda: all_are(small, "DELIVERED"), 20)
    assert len(small.acks()) == 400
    assert len(small.of("acks")) < 100


def test_long_work_keeps_its_lease(small: SmallBroker) -> None:
    [job] = small.put_jobs("a")
    app, begun = worker_of(small), []

    @app.consumer("orders", consumer="billing", concurrency=2, lease_seconds=0.6)
    def bill(_job: Job) -> None:
        begun.append(job.lease_until)
        wait_until(lambda: job.lease_until > begun[0] + 1.2, 20)

    with running(app):
        wait_until(lambda: all_are(small, "DELIVERED"), 20)
    assert (job.attempt, job.failures) == (1, 0)


def test_a_stopping_worker_lets_work_end_and_gives_the_rest_back(small: SmallBroker) -> None:
    """One is at work, two were leased ahead, one comes after the stop."""
    under_way, second, third = small.put_jobs("a", "b", "c")
    app, go_on = worker_of(small), threading.Event()

    @app.consumer("orders", consumer="billing", prefetch=2)
    def bill(_job: Job) -> None:
        assert go_on.wait(30)

    with running(app):
        wait_until(lambda: under_way.history == ["RUNNING"] and third.status == "INFLIGHT", 20)
        app.stop()
        wait_until(lambda: (second.status, third.status) == ("QUEUED", "QUEUED"), 20)
        [after] = small.put_jobs("d")
        go_on.set()

    assert (under_way.status, under_way.history) == ("DELIVERED", ["RUNNING", "COMPLETE"])
    assert [job.status for job in (second, third, after)] == ["QUEUED"] * 3
    assert not [job for job in small.jobs.values() if job.failures]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_work_that_does_not_end_in_time_is_given_back_without_a_failure(small: SmallBroker, kind: str) -> None:
    [job] = small.put_jobs("a")
    app, go_on = worker_of(small, grace_seconds=0.1), threading.Event()

    def slow(_job: Job) -> None:
        go_on.wait(30)

    async def slow_async(_job: Job) -> None:
        await asyncio.sleep(30)

    app.consumer("orders", consumer="billing")(slow if kind == "sync" else slow_async)
    with running(app):
        wait_until(lambda: job.history == ["RUNNING"], 20)
    go_on.set()

    assert (job.status, job.failures, job.history) == ("QUEUED", 0, ["RUNNING", "QUEUED"])


def test_an_idle_worker_stops_at_once(small: SmallBroker) -> None:
    """Its long poll, which would last for half a minute, is not waited for."""
    app = Worker(small.url, wait_seconds=30, **TOKENS)
    app.consumer("orders", consumer="billing")(lambda _job: None)

    with running(app) as thread:
        wait_until(lambda: len(small.of("lease")) == 1, 20)
        app.stop()
        wait_until(lambda: not thread.is_alive(), 20)


def test_a_broker_that_was_away_is_found_again(small: SmallBroker) -> None:
    """Away for longer than one call tries, at the lease and at the acks."""
    away = [busy()] * (QUICK.most + 1)
    small.mishaps.extend(away)
    [job] = small.put_jobs("a")
    app = worker_of(small)

    @app.consumer("orders", consumer="billing")
    def bill(_job: Job) -> None:
        small.mishaps.extend([*away, LOST])

    with running(app):
        wait_until(lambda: job.status == "DELIVERED" and not small.mishaps, 30)
    assert (job.attempt, job.history) == (1, ["RUNNING", "COMPLETE"])


def test_a_refusal_for_good_ends_the_worker_with_that_error(small: SmallBroker) -> None:
    small.mishaps.append(Mishap(Said(403, {"code": "wrong_token", "detail": "The token does not open this."})))
    app = worker_of(small)
    app.consumer("orders", consumer="billing")(lambda _job: None)
    app.consumer("orders", consumer="other")(lambda _job: None)

    with pytest.raises(Forbidden) as caught:
        app.run()
    assert caught.value.code == "wrong_token"


def test_a_worker_without_a_function_says_so(small: SmallBroker) -> None:
    with pytest.raises(ValueError, match="consumer"):
        worker_of(small).run()


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"prefetch": -1}, {"lease_seconds": 0}])
def test_numbers_with_which_no_job_would_ever_be_done_are_refused(small: SmallBroker, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one job at least"):
        worker_of(small).consumer("orders", consumer="billing", **wrong)(print)


def test_a_broker_that_answers_for_too_few_acks_ends_the_worker(small: SmallBroker) -> None:
    """What cannot be told is not worked on for ever; the job is given back."""
    [job] = small.put_jobs("a")
    app, go_on = worker_of(small, grace_seconds=0.1), threading.Event()

    @app.consumer("orders", consumer="billing")
    def bill(_job: Job) -> None:
        go_on.wait(30)

    small.loses_results = True
    with pytest.raises(ValueError, match="shorter"):
        app.run()
    go_on.set()
    assert (job.status, job.failures) == ("QUEUED", 0)
