"""Jobs held by a context manager: kept while the body works, and none left behind."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from broker_client import Ack, AsyncBroker, Broker, Conflict, Reject, Retry
from tests.acceptance.servers import wait_until
from tests.broker_client.conftest import QUICK, TOKENS
from tests.broker_client.small_broker import LOST, SmallBroker, busy


def test_what_is_done_is_told_and_what_was_not_touched_is_given_back(small: SmallBroker, broker: Broker) -> None:
    done, noted, failed, untouched = small.put_jobs("a", "b", "c", "d")

    with broker.leasing("orders", "billing", limit=10) as jobs:
        first, second, third, _fourth = jobs
        with jobs.working(first):
            assert first.text() == "a"
        jobs.complete(second)
        jobs.fail(third, "no stock")

    assert [job.status for job in (done, noted, failed, untouched)] == ["DELIVERED", "DELIVERED", "WAITING", "QUEUED"]
    assert done.history == ["RUNNING", "COMPLETE"]
    assert [job.failures for job in small.jobs.values()] == [0, 0, 1, 0]


def test_what_raises_is_failed_and_rises_and_the_rest_is_given_back(small: SmallBroker, broker: Broker) -> None:
    bad, rest = small.put_jobs("a", "b")

    with (
        pytest.raises(KeyError),
        broker.leasing("orders", "billing") as jobs,
        jobs.working(next(iter(jobs))),
    ):
        raise KeyError("stock")

    [failure] = [ack for heard in small.of("acks") for ack in heard.json() if ack["status"] == "FAILED"]
    assert failure["error"] == "KeyError: 'stock'"
    assert (bad.failures, rest.status, rest.failures) == (1, "QUEUED", 0)


def test_an_interrupt_is_no_failure_of_the_job(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")

    with (
        pytest.raises(KeyboardInterrupt),
        broker.leasing("orders", "billing") as jobs,
        jobs.working(next(iter(jobs))),
    ):
        raise KeyboardInterrupt

    assert (job.status, job.failures) == ("QUEUED", 0)


def test_retry_and_reject_say_what_becomes_of_a_job(small: SmallBroker, broker: Broker) -> None:
    later, unwanted = small.put_jobs("a", "b")

    with broker.leasing("orders", "billing") as jobs:
        first, second = jobs
        with jobs.working(first):
            raise Retry("the shop is closed", in_seconds=60)
        with jobs.working(second):
            raise Reject("no such order")

    [failure] = [ack for heard in small.of("acks") for ack in heard.json() if ack["status"] == "FAILED"]
    assert failure["error"] == "the shop is closed"
    assert failure["retryAt"].endswith("Z")
    assert (later.status, unwanted.status) == ("WAITING", "DEAD")
    assert small.of(unwanted.id)[0].json()["error"] == "no such order"


def test_a_heartbeat_keeps_the_lease_while_the_body_works(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")

    with broker.leasing("orders", "billing", lease_seconds=0.6) as jobs:
        begun = job.lease_until
        wait_until(lambda: job.lease_until > begun + 1.2, 20)
        assert broker.lease("orders", "billing") == []
        jobs.complete(next(iter(jobs)))

    assert (job.status, job.attempt, job.history) == ("DELIVERED", 1, ["COMPLETE"])


def test_a_job_that_was_lost_to_another_is_neither_told_nor_given_back(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")

    with broker.leasing("orders", "billing", lease_seconds=0.3) as jobs:
        job.attempt += 1
        wait_until(lambda: len(jobs) == 0, 20)

    assert (job.status, job.attempt, job.history) == ("INFLIGHT", 2, [])


def test_acks_whose_answer_is_lost_are_sent_again(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")
    [leased] = broker.lease("orders", "billing")
    small.mishaps.append(LOST)

    broker.acknowledge("orders", "billing", [Ack.running(leased), Ack.complete(leased)])

    assert job.status == "DELIVERED"
    assert len(small.of("acks")) == 2


def test_a_release_whose_answer_is_lost_is_done(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")
    [leased] = broker.lease("orders", "billing")
    small.mishaps.append(LOST)

    broker.release("orders", "billing", leased)

    assert (job.status, job.failures) == ("QUEUED", 0)
    with pytest.raises(Conflict):
        broker.release("orders", "billing", replace(leased, attempt=9))


def test_more_acks_than_one_request_takes_go_in_several(small: SmallBroker, broker: Broker) -> None:
    small.put_jobs(*(str(n) for n in range(1200)))
    leased = [job for _ in range(2) for job in broker.lease("orders", "billing", limit=1000)]

    results = broker.acknowledge("orders", "billing", [Ack.complete(job) for job in leased])

    assert [len(heard.json()) for heard in small.of("acks")] == [1000, 200]
    assert {result.result for result in results} == {"applied"}


def test_the_async_twin_holds_jobs_the_same_way(small: SmallBroker) -> None:
    done, rest = small.put_jobs("a", "b")

    async def act() -> None:
        async with AsyncBroker(small.url, retries=QUICK, **TOKENS) as broker:
            small.mishaps.append(busy())
            async with broker.leasing("orders", "billing", lease_seconds=0.3) as jobs:
                with jobs.working(next(iter(jobs))):
                    while len(small.of("extend")) < 2:
                        await asyncio.sleep(0.01)

    asyncio.run(act())

    assert (done.status, done.history) == ("DELIVERED", ["RUNNING", "COMPLETE"])
    assert (rest.status, rest.failures) == ("QUEUED", 0)


def test_a_time_without_a_zone_is_refused_where_it_is_given(small: SmallBroker, broker: Broker) -> None:
    [job] = small.put_jobs("a")
    naive = datetime(2031, 1, 1)  # noqa: DTZ001

    with broker.leasing("orders", "billing") as jobs, pytest.raises(ValueError, match="time zone"):
        jobs.fail(next(iter(jobs)), "closed", retry_at=naive)
    with pytest.raises(ValueError, match="time zone"):
        Retry(at=naive)

    assert (job.status, job.failures) == ("QUEUED", 0)
