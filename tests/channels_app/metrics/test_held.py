"""Ages of what consumers have, and how far behind pollers are: by index, and only that."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from channels_app.metrics import held
from channels_app.metrics.stored import LIMITS, SHOWN
from channels_app.models import Channel, ConsumerState, Producer
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.pull.held import make_leased
from tests.channels_app.pull.pollers import make_poller, publish
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


def read(statement: str) -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute(SHOWN + statement, LIMITS)
        return {consumer: value for _, consumer, value in cursor.fetchall()}


def test_the_oldest_that_a_consumer_has_is_told_whenever_its_time_ends(channel: Channel, producer: Producer) -> None:
    now = timezone.now()
    puller, explicit, pushed, idle = (
        make_consumer(channel, "puller", type="pull"),
        make_consumer(channel, "explicit", ack_mode="explicit"),
        make_consumer(channel, "pushed"),
        make_consumer(channel, "idle", type="pull"),
    )
    make_leased(puller, producer, seconds=3600, received_at=now - timedelta(minutes=50))
    make_leased(puller, producer, seconds=10, received_at=now - timedelta(minutes=1))
    make_leased(explicit, producer, received_at=now - timedelta(minutes=20))
    make_leased(explicit, producer, received_at=None)
    make_leased(pushed, producer, received_at=None)
    make_job(idle, producer)

    ages = read(held.UNACKED)

    assert {name: round(age / 60) for name, age in ages.items()} == {"puller": 50, "explicit": 20}


def test_the_lag_of_a_poller_is_what_comes_after_its_acked_index(channel: Channel) -> None:
    poller, other = make_poller(channel), make_poller(channel, "other")
    make_consumer(channel, "puller", type="pull")
    publish(channel, 5)
    ConsumerState.objects.filter(pk=poller.consumer.pk).update(acked_index=2, sent_index=4)

    assert read(held.LAG) == {"k": 3, "other": 5}
    assert other.indexes == (0, 0)


def test_what_is_done_is_not_read(channel: Channel, producer: Producer) -> None:
    consumer = make_consumer(channel, type="pull")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status, received_at)"
            " SELECT n, %s, %s, 0, 1003, now() FROM generate_series(1, 20000) AS n",
            [channel.pk, consumer.pk],
        )
        cursor.execute("ANALYZE delivery_job")
        make_leased(consumer, producer)
        cursor.execute(f"EXPLAIN {SHOWN}{held.UNACKED}", LIMITS)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "job_in_flight" in plan
    assert "Seq Scan on delivery_job" not in plan
