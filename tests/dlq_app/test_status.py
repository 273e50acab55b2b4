"""How many dead letters there are, and what is said when a job dies."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from structlog.testing import capture_logs

from broker_project.lib.conditions import Condition
from channels_app.delivery import endings
from channels_app.models import Consumer, Producer
from channels_app.reasons import ADVICE, Reason
from channels_app.services import delete
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.dlq_app.letters import make_dead

pytestmark = pytest.mark.django_db


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
    assert (sorted(line["jobs"]), line["reason"]) == ([job.pk for job in jobs], "consumer_gone")
    assert line["advice"] == ADVICE[Reason.CONSUMER_GONE]
