"""The Python client against a running broker: leases, acknowledgements, indexes, and the worker."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker_client import Ack, AsyncBroker, Conflict, Job, JobState, Reject, Retry, Worker
from tests.acceptance.clients import Shop, shop
from tests.acceptance.engine import Engine
from tests.acceptance.servers import ROOT, wait_until

LONG = """
import sys, time
from broker_client import Worker

url, channel = sys.argv[1:]
app = Worker(url, channel_tokens={channel: "open"}, grace_seconds=0.2, device_id="long")

@app.consumer(channel, consumer="billing", token="mine", prefetch=1)
def bill(job):
    while True:
        time.sleep(0.01)

app.run()
"""


@pytest.fixture
def orders(engine: Engine) -> Iterator[Shop]:
    with shop(engine) as made:
        yield made


@contextmanager
def running(app: Worker) -> Iterator[None]:
    thread = threading.Thread(target=app.run)
    thread.start()
    try:
        yield
    finally:
        app.stop()
        thread.join(timeout=60)
        assert not thread.is_alive()


def worker_of(orders: Shop) -> Worker:
    return Worker(orders.url, device_id="here", **orders.tokens)


def publish(orders: Shop, *payloads: str) -> list[str]:
    return [one.message_id for one in orders.broker.publish_batch(orders.channel, payloads)]


def job_of(orders: Shop, message_id: str) -> JobState:
    [job] = orders.broker.task(orders.channel, message_id).jobs
    return job


def statuses(orders: Shop, messages: list[str]) -> list[str]:
    return [job.status for one in messages for job in orders.broker.task(orders.channel, one).jobs]


def lease(orders: Shop, number: int, *, lease_seconds: float = 60.0) -> list[Job]:
    """So many, in one lease or in several: fan-out has its own pace."""
    taken: list[Job] = []
    deadline = time.monotonic() + 30
    while len(taken) < number:
        assert time.monotonic() < deadline
        taken += orders.broker.lease(
            orders.channel, "billing", limit=number - len(taken), lease_seconds=lease_seconds, wait_seconds=5
        )
    return taken


def test_a_lease_is_kept_acknowledged_and_seen(orders: Shop) -> None:
    broker, channel = orders.broker, orders.channel
    [message] = publish(orders, "hello")
    wait_until(lambda: len(broker.peek(channel, "billing")) == 1, 30)

    [job] = lease(orders, 1)
    assert (job.text(), job.attempt, job.message.id) == ("hello", 1, message)
    assert job.lease_until is not None
    assert broker.peek(channel, "billing") == broker.lease(channel, "billing") == []
    [extended] = broker.extend(channel, "billing", [job], lease_seconds=600)
    assert extended.result == "applied"

    results = broker.acknowledge(channel, "billing", [Ack.running(job), Ack.complete(job), Ack.complete(job)])
    assert [one.result for one in results] == ["applied", "applied", "duplicate"]
    seen = broker.job(channel, "billing", job.id)
    assert (seen.status, seen.device_id, seen.attempt) == ("DELIVERED", "here", 1)
    assert seen.published_at is not None
    assert seen.received_at is not None
    assert seen.started_at is not None
    assert seen.completed_at is not None


def test_a_released_job_comes_back_without_a_failure_and_a_rejected_one_does_not(orders: Shop) -> None:
    publish(orders, "a")
    [job] = lease(orders, 1)

    orders.broker.release(orders.channel, "billing", job)
    [again] = lease(orders, 1)
    assert (again.id, again.attempt) == (job.id, 2)
    assert orders.broker.job(orders.channel, "billing", job.id).document["failures"] == 0
    with pytest.raises(Conflict):
        orders.broker.release(orders.channel, "billing", job)

    orders.broker.reject(orders.channel, "billing", again, "no such order")
    assert orders.broker.job(orders.channel, "billing", job.id).status == "DEAD"


def test_a_stale_ack_is_said_to_be_stale_and_an_unknown_one_unknown(orders: Shop) -> None:
    publish(orders, "a")
    [job] = lease(orders, 1)
    acks = [Ack.complete(replace(job, attempt=7)), Ack.complete(replace(job, id="999999999999")), Ack.complete(job)]

    results = orders.broker.acknowledge(orders.channel, "billing", acks)

    assert [one.result for one in results] == ["stale", "unknown", "applied"]
    assert results[0].is_lost


def test_a_lease_in_a_with_is_kept_by_heartbeats_and_leaves_nothing_behind(orders: Shop) -> None:
    done, failed, untouched = publish(orders, "done", "failed", "untouched")
    wait_until(lambda: len(orders.broker.peek(orders.channel, "billing")) == 3, 30)

    with orders.broker.leasing(orders.channel, "billing", limit=3, lease_seconds=1.5) as jobs:
        by_text = {job.text(): job for job in jobs}
        first = by_text["done"].lease_until
        with jobs.working(by_text["done"]):
            wait_until(lambda: _lease_until(orders, by_text["done"]) > str(first), 30)
            assert orders.broker.lease(orders.channel, "billing") == []
        jobs.fail(by_text["failed"], "no stock")

    assert statuses(orders, [done, untouched]) == ["DELIVERED", "QUEUED"]
    assert [job_of(orders, one).document["failures"] for one in (done, failed, untouched)] == [0, 1, 0]


def _lease_until(orders: Shop, job: Job) -> str:
    shown = orders.broker.job(orders.channel, "billing", job.id)
    return str(shown.document["leaseUntil"] or "").replace("T", " ")


def test_the_async_twin_leases_and_completes(orders: Shop) -> None:
    messages = publish(orders, "a", "b", "c")

    async def act() -> None:
        done = 0
        async with AsyncBroker(orders.url, **orders.tokens) as broker:
            while done < 3:
                async with broker.leasing(orders.channel, "billing", wait_seconds=5) as jobs:
                    for job in jobs:
                        with jobs.working(job):
                            done += 1

    asyncio.run(act())
    assert statuses(orders, messages) == ["DELIVERED"] * 3


def test_a_consumer_by_index_polls_acknowledges_and_seeks(engine: Engine) -> None:
    with shop(engine, pull_mode="index", unacked_cap=2) as orders:
        broker, channel = orders.broker, orders.channel
        messages = publish(orders, "a", "b", "c")
        wait_until(lambda: statuses(orders, messages) == ["QUEUED"] * 3, 30)

        polled = broker.poll(channel, "billing", limit=10)
        assert [(item.index, item.message.text()) for item in polled.messages] == [(1, "a"), (2, "b")]
        empty = broker.poll(channel, "billing")
        assert (empty.messages, empty.reason) == ((), "unacked_cap_reached")

        assert broker.ack_index(channel, "billing", 2).acked == 0
        assert broker.ack_up_to(channel, "billing", 2).acked == 2
        assert broker.message_at(channel, "billing", 2).message.text() == "b"
        assert [item.index for item in broker.poll(channel, "billing", start=2).messages] == [3]
        assert broker.seek(channel, "billing", 1).acked == 1
        assert [item.index for item in broker.poll(channel, "billing").messages] == [2, 3]
        with pytest.raises(Conflict):
            broker.lease(channel, "billing")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_worker_completes_whatever_comes(orders: Shop, kind: str) -> None:
    app, seen = worker_of(orders), []

    def bill(job: Job) -> None:
        seen.append(job.text())

    async def bill_async(job: Job) -> None:
        await asyncio.sleep(0)
        seen.append(job.text())

    app.consumer(orders.channel, consumer="billing", concurrency=8, prefetch=8)(bill if kind == "sync" else bill_async)
    texts = [str(number) for number in range(100)]
    with running(app):
        messages = publish(orders, *texts)
        wait_until(lambda: set(statuses(orders, messages)) == {"DELIVERED"}, 60)

    assert sorted(seen) == sorted(texts)
    assert job_of(orders, messages[0]).device_id == "here"


def test_what_a_function_raises_decides_about_its_job(orders: Shop) -> None:
    app = worker_of(orders)

    @app.consumer(orders.channel, consumer="billing", concurrency=3)
    def bill(job: Job) -> None:
        if job.text() == "later":
            raise Retry("closed", in_seconds=3600)
        if job.text() == "reject":
            raise Reject("no such order")
        if job.attempt == 1:
            raise ValueError("no stock")

    failing, later, unwanted = publish(orders, "fail", "later", "reject")
    with running(app):
        wait_until(lambda: statuses(orders, [failing, unwanted]) == ["DELIVERED", "DEAD"], 60)
        wait_until(lambda: job_of(orders, later).next_attempt_at is not None, 60)

    tried = orders.broker.job(orders.channel, "billing", job_of(orders, failing).id)
    assert tried.attempt == 2
    assert "no stock" in str(tried.document["attempts"][0])


def test_a_worker_that_is_ended_gives_its_jobs_back_without_a_failure(orders: Shop) -> None:
    """One is at work and does not end, one was leased ahead; both are for the next who asks."""
    messages = publish(orders, "a", "b")
    process = subprocess.Popen([sys.executable, "-c", LONG, orders.url, orders.channel], cwd=ROOT)
    try:
        wait_until(lambda: statuses(orders, messages) == ["INFLIGHT", "INFLIGHT"], 60)
        wait_until(lambda: any(job_of(orders, one).started_at for one in messages), 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()

    assert statuses(orders, messages) == ["QUEUED", "QUEUED"]
    assert [job_of(orders, one).document["failures"] for one in messages] == [0, 0]
    assert sorted(job.text() for job in lease(orders, 2)) == ["a", "b"]
