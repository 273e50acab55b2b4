"""How many dead letters there are, and what is said when a job dies."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from structlog.testing import capture_logs

from broker_project.lib.conditions import Condition
from channels_app.delivery import endings, failures
from channels_app.delivery.claim import Job
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled
from channels_app.models import Consumer, Producer
from channels_app.pull.expiry import end_unacknowledged
from channels_app.reasons import ADVICE, Reason
from channels_app.services import EXPUNGED, delete, expunge
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.delivery.test_turn import target
from tests.channels_app.pull.held import make_leased
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.dlq_app.letters import make_dead

pytestmark = pytest.mark.django_db

# Jobs and how often they have failed.
TRIED = ((1, 0), (2, 0), (3, 1))


def test_counts_are_by_public_ids_and_from_counters(api: Client, consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    make_dead(consumer, producer)
    make_dead(make_consumer(make_channel("stock"), "shelf"), producer)

    with CaptureQueriesContext(connection) as queries:
        answer = api.get("/dlq-status")

    assert answer.json() == {"counts": {"orders": {"billing": 2}, "stock": {"shelf": 1}}}
    assert not [query for query in queries if "dead_letter" in query["sql"]]


def test_counts_need_a_manager_who_may_view(stranger: Client) -> None:
    problem(stranger.get("/dlq-status"), 401, "not_authenticated")
    problem(log_in("view_channel").get("/dlq-status"), 403, "permission_denied")


def test_every_cause_has_its_advice() -> None:
    assert set(ADVICE) == set(Reason)


def test_jobs_that_end_with_their_consumer_are_told_in_a_line_a_batch(consumer: Consumer, producer: Producer) -> None:
    jobs = [make_job(consumer, producer) for _ in range(2)]
    delete(consumer, condition=Condition(etags=frozenset({consumer.etag})))

    with capture_logs() as logs:
        endings.bury_gone()

    [line] = [line for line in logs if line["event"] == "delivery.dead"]
    assert (line["jobs"], line["reason"]) == ([job.pk for job in jobs], "consumer_gone")
    assert (line["channel"], line["consumer"], line["messages"]) == ("orders", "billing", ["m0", "m1"])
    assert line["advice"] == ADVICE[Reason.CONSUMER_GONE]


def test_a_job_that_ends_with_its_message_is_told_with_its_context(consumer: Consumer, producer: Producer) -> None:
    job = make_job(consumer, producer)

    with capture_logs() as logs:
        expunge(message=job.message, by="anna")

    [line] = [line for line in logs if line["event"] == "delivery.dead"]
    assert (line["channel"], line["consumer"], line["messages"], line["jobs"]) == (
        "orders",
        "billing",
        ["m0"],
        [job.pk],
    )
    assert (line["reason"], line["advice"]) == ("expired", EXPUNGED)


def test_a_job_that_dies_of_an_answer_is_told_with_its_context_and_what_to_do() -> None:
    job = Job(7, 4, 3, 0, "m7", b"x", "text/plain", {}, is_expired=False)
    outcome = Outcome(reason=Reason.HTTP_4XX, status_code=422, error="no amount")

    with capture_logs() as logs:
        failures.tell([Settled.of(target(), job, outcome)])

    [line] = logs
    assert (line["event"], line["log_level"], line["messages"], line["jobs"]) == (
        "delivery.dead",
        "warning",
        ["m7"],
        [7],
    )
    assert (line["reason"], line["status_code"], line["error"]) == ("http_4xx", 422, "no amount")
    assert line["advice"] == ADVICE[Reason.HTTP_4XX]


def test_tries_that_failed_alike_share_a_line_and_each_is_named() -> None:
    jobs = [Job(number, 1, failures, 0, f"m{number}", b"x", "t", {}, is_expired=False) for number, failures in TRIED]
    outcome = Outcome(reason=Reason.HTTP_5XX, status_code=503)

    with capture_logs() as logs:
        failures.tell(
            [*(Settled.of(target(), job, outcome) for job in jobs), Settled.of(target(), jobs[0], Outcome(reason=None))]
        )

    assert [(line["event"], line["attempt"], line["messages"], line["jobs"]) for line in logs] == [
        ("delivery.retry", "1 of 4", ["m1", "m2"], [1, 2]),
        ("delivery.retry", "2 of 4", ["m3"], [3]),
    ]
    assert all(line["next_attempt_at"] for line in logs)


def test_a_job_that_dies_of_silence_is_told_with_what_to_do(consumer: Consumer, producer: Producer) -> None:
    puller = make_consumer(consumer.channel, "puller", type="pull", retries=0)
    make_leased(puller, producer, seconds=-1)

    with capture_logs() as logs:
        end_unacknowledged()

    [line] = [line for line in logs if line["event"] == "ack.timeout"]
    assert (line["new"], line["reason"], line["advice"]) == ("DEAD", "ack_timeout", ADVICE[Reason.ACK_TIMEOUT])
