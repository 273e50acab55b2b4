"""The statements of this door read what they show, whatever the planner believes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from channels_app.models import Consumer
from scheduling_app.querator.clearing import _READY
from scheduling_app.querator.stats import _AGES, _WAITING
from scheduling_app.querator.storage import _ITEMS, _LATER, _RETRIED
from tests.channels_app.messages import rows_touched
from tests.channels_app.pull.test_plans import MANY, analyze, analyze_empty, execute, filled
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db

SCHEDULE = """
INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, priority, headers,
                               scheduled_for, due_at)
SELECT %(channel)s, %(producer)s, 's' || n, 'x', 'text/plain', 0, '{}', now() + n * interval '1 second',
       now() + n * interval '1 second' FROM generate_series(1, %(many)s) AS n
"""
WAIT = """
UPDATE delivery_job SET next_attempt_at = now() + interval '1 hour' + id * interval '1 millisecond'
WHERE consumer_id = %(consumer)s
"""


def asked(consumer: Consumer, **more: Any) -> dict[str, Any]:
    ids = {"consumer": consumer.pk, "channel": consumer.channel_id, "partition": 0, "limit": 10, "pivot": 0}
    return {**ids, "due": datetime(2001, 1, 1, tzinfo=UTC), "most": 10, "newest": 2**62, **more}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("statement", [_ITEMS, _AGES.replace("1000", "10"), _READY])
def test_what_is_in_line_is_read_from_its_beginning(statement: str, is_known: bool) -> None:
    analyze_empty()
    producer = make_producer()
    consumer = filled(make_channel("orders"), producer)
    filled(make_channel("others"), producer)
    if is_known:
        analyze()

    assert rows_touched(statement, asked(consumer)) < 300


@pytest.mark.parametrize("is_known", [True, False])
def test_what_waits_for_its_time_is_read_from_its_beginning(is_known: bool) -> None:
    analyze_empty()
    producer = make_producer()
    consumer = filled(make_channel("orders"), producer)
    execute(WAIT, {"consumer": consumer.pk})
    others = filled(make_channel("others"), producer)
    for one in (consumer, others):
        execute(SCHEDULE, {"channel": one.channel_id, "producer": producer.pk, "many": MANY})
    if is_known:
        analyze()
        execute("ANALYZE scheduled_message")

    for statement in (_RETRIED, _LATER):
        assert rows_touched(statement, asked(consumer)) < 300
    assert rows_touched(_WAITING, asked(others)) < 300
