"""The statements of consumers that ask read what they take, whatever the planner believes."""

from typing import Any

import pytest
from django.db import connection

from channels_app.models import Channel, Consumer, Producer
from channels_app.pull.index import ack, again
from channels_app.pull.lease import _LEASE, _WITH_READY_JOBS
from tests.channels_app.messages import rows_touched
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db

MANY = 5_000
FILL = """
WITH made AS (
    INSERT INTO message (channel_id, producer_id, message_id, payload, content_type, priority, headers, status,
                         sequence, dispatched_at)
    SELECT %(channel)s, %(producer)s, 'm' || n, 'x', 'text/plain', 0, '{}', 101, n, now()
    FROM generate_series(1, %(many)s) AS n RETURNING id
)
INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority)
SELECT id, %(channel)s, %(consumer)s, 0 FROM made ORDER BY id
"""


@pytest.fixture
def producer() -> Producer:
    return make_producer()


def filled(channel: Channel, producer: Producer) -> Consumer:
    consumer = make_consumer(channel, type="pull")
    ids = {"channel": channel.pk, "producer": producer.pk, "consumer": consumer.pk, "many": MANY}
    execute(FILL, ids)
    return consumer


def execute(sql: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def analyze_empty() -> None:
    """As if they had always been empty: rows that other tests took back have left pages behind."""
    execute("TRUNCATE message, delivery_job")
    analyze()


def analyze() -> None:
    execute("ANALYZE message; ANALYZE delivery_job")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_lease_reads_what_it_takes(producer: Producer, is_known: bool) -> None:
    analyze_empty()
    consumer = filled(make_channel(), producer)
    if is_known:
        analyze()
    asked = {"consumer": consumer.pk, "most": 10, "bytes": 10**6, "lease": 60.0, "device": None, "of_one": True}

    assert rows_touched(_LEASE, asked) < 200


@pytest.mark.parametrize("is_known", [True, False])
def test_the_look_after_those_who_wait_reads_a_row_for_each(producer: Producer, is_known: bool) -> None:
    analyze_empty()
    busy = filled(make_channel(), producer)
    idle = make_consumer(busy.channel, "idle", type="pull")
    if is_known:
        analyze()

    assert rows_touched(_WITH_READY_JOBS, [[idle.pk, busy.pk, *range(10**6, 10**6 + 50)]]) < 200


@pytest.mark.parametrize("statement", [ack._DONE, again._READ])
def test_an_index_is_found_in_a_channel_younger_than_its_statistics(producer: Producer, statement: str) -> None:
    filled(make_channel("old"), producer)
    analyze()
    consumer = filled(make_channel("young"), producer)
    asked = {"channel": consumer.channel_id, "consumer": consumer.pk, "after": 2_500, "until": 2_501, "note": ""}

    assert rows_touched(statement, asked) < 50
