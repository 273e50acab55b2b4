"""Jobs of lost workers are found by what is in flight, however much is done."""

from typing import Any

import pytest
from django.db import connection

from channels_app.delivery import sweeps
from channels_app.models import Consumer, DeliveryJob
from channels_app.pull import expiry
from tests.channels_app.messages import rows_touched
from tests.channels_app.registry import make_channel, make_consumer

pytestmark = pytest.mark.django_db

DONE, LOST = 20_000, 3_000
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


@pytest.mark.parametrize("received", [None, PAST], ids=["lost workers", "silent consumers"])
def test_the_first_batch_reads_no_more_than_it_takes_however_much_is_done(
    consumer: Consumer, received: str | None
) -> None:
    fill(consumer, DONE, 1003)
    fill(consumer, LOST, 1002, PAST, received)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delivery_job")
    most, poison = sweeps.MOST, sweeps.POISON_LOSSES
    statements = {
        None: bound(sweeps._EXPIRE, [most, poison, poison]),
        PAST: bound(expiry._LATE, {"most": most}),
    }

    # Once to find each, once to lock it, once to move it, and what is told of them.
    assert rows_touched(statements[received]) <= 8 * most < DONE


def test_all_of_them_are_taken_back_in_batches(consumer: Consumer) -> None:
    fill(consumer, LOST, 1002, PAST)
    fill(consumer, 1, 1002, "2100-01-01T00:00:00Z")

    work = sweeps.take_back_lost()

    assert work.push == {consumer.pk}
    assert DeliveryJob.objects.filter(status=1001, losses=1).count() == LOST
    assert DeliveryJob.objects.filter(status=1002).count() == 1
