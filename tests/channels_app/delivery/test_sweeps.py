"""Jobs of lost workers are found by what is in flight, however much is done."""

from typing import Any

import pytest
from django.db import connection
from structlog.testing import capture_logs

from channels_app.delivery import sweeps
from channels_app.models import Consumer, DeliveryJob
from channels_app.pull import expiry
from channels_app.reasons import ADVICE, Reason
from tests.channels_app.messages import nodes_of, plan_of
from tests.channels_app.registry import make_channel, make_consumer

pytestmark = pytest.mark.django_db

DONE, LOST = 20_000, 10_000
_FILL = """
INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status, lease_until, received_at)
SELECT n, %(channel)s, %(consumer)s, 0, %(status)s, %(until)s::timestamptz, %(received)s::timestamptz
FROM generate_series(1, %(count)s) AS n
"""
PAST = "2026-01-01T00:00:00Z"


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel())


def fill(consumer: Consumer, count: int, status: int, until: str | None = None, received: str | None = None) -> None:
    with connection.cursor() as cursor:
        ids = {"channel": consumer.channel_id, "consumer": consumer.pk}
        cursor.execute(_FILL, {**ids, "status": status, "until": until, "received": received, "count": count})


def bound(statement: str, parameters: Any) -> str:
    """With its parameters in it, as a plan wants it."""
    with connection.cursor() as cursor:
        text: str = cursor.mogrify(statement, parameters)
    return text


def jobs_read(statement: str) -> int:
    """Rows of jobs that its plan reads, the ones thrown away among them."""
    scans = [node for node in nodes_of(plan_of(statement)) if node.get("Relation Name") == "delivery_job"]
    reads = [node for node in scans if node["Node Type"] != "ModifyTable"]
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in reads
    )


@pytest.mark.parametrize("received", [None, PAST], ids=["lost workers", "silent consumers"])
def test_a_batch_reads_what_is_in_flight_however_much_is_done(consumer: Consumer, received: str | None) -> None:
    fill(consumer, DONE, 1003)
    fill(consumer, LOST, 1002, PAST, received)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delivery_job")
    most, poison = sweeps.MOST, sweeps.POISON_LOSSES
    statements = {
        None: bound(sweeps._EXPIRE, [most, poison, poison]),
        PAST: bound(expiry._LATE, {"most": most}),
    }

    # At worst all that is in flight; and each of the batch once to lock it, once to move it.
    assert jobs_read(statements[received]) <= LOST + 2 * most < DONE


def test_all_of_them_are_taken_back_in_batches(consumer: Consumer) -> None:
    fill(consumer, LOST, 1002, PAST)
    fill(consumer, 1, 1002, "2100-01-01T00:00:00Z")

    work = sweeps.take_back_lost()

    assert work.push == {consumer.pk}
    assert DeliveryJob.objects.filter(status=1001, losses=1).count() == LOST
    assert DeliveryJob.objects.filter(status=1002).count() == 1


def test_a_job_that_lost_ten_workers_is_poison_and_its_death_is_told(consumer: Consumer) -> None:
    fill(consumer, 2, 1002, PAST)
    poison = DeliveryJob.objects.order_by("pk")[0]
    DeliveryJob.objects.filter(pk=poison.pk).update(losses=sweeps.POISON_LOSSES - 1)

    with capture_logs() as logs:
        sweeps.take_back_lost()

    [dead] = [line for line in logs if line["event"] == "delivery.dead"]
    assert (dead["jobs"], dead["reason"], dead["advice"]) == ([poison.pk], "poison", ADVICE[Reason.POISON])
    assert DeliveryJob.objects.get(status=1004) == poison
