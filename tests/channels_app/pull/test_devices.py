"""What devices have, and what one that died gives back."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from channels_app import services
from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, Producer
from channels_app.pull import devices
from channels_app.pull.fold import Ack
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.pull.held import COMPLETE, INFLIGHT, QUEUED, STALE, ack, lease, make_leased
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, type="pull")


def test_what_a_consumer_has_is_told_by_device_the_most_first(consumer: Consumer, producer: Producer) -> None:
    now = timezone.now()
    for minutes, device_id, failures in ((5, "a", 0), (9, "b", 3), (2, "a", 0), (1, None, 1)):
        received_at = now - timedelta(minutes=minutes)
        make_leased(consumer, producer, device_id=device_id, received_at=received_at, failures=failures)
    make_leased(consumer, producer, device_id="ours", received_at=None)
    make_leased(make_consumer(consumer.channel, "other", type="pull"), producer, device_id="c")

    held = devices.unacked(consumer.pk)

    assert held is not None
    told = [(one.device_id, one.count, one.oldest_at) for one in held.devices]
    assert told == [
        ("a", 2, now - timedelta(minutes=5)),
        ("b", 1, now - timedelta(minutes=9)),
        (None, 1, now - timedelta(minutes=1)),
    ]
    assert (held.device_count, held.count, held.oldest_at) == (3, 4, now - timedelta(minutes=9))
    assert held.failures == 1.0


def test_one_that_has_nothing_is_told_so(consumer: Consumer, producer: Producer) -> None:
    make_job(consumer, producer)

    assert devices.unacked(consumer.pk) is None


def test_what_a_dead_device_has_goes_back_without_a_failure_and_what_others_have_stays(
    consumer: Consumer, producer: Producer
) -> None:
    theirs = [make_leased(consumer, producer, device_id="pump-7", failures=1, losses=2) for _ in range(3)]
    others = [
        make_leased(consumer, producer, device_id="pump-8"),
        make_leased(consumer, producer),
        make_leased(make_consumer(consumer.channel, "other", type="pull"), producer, device_id="pump-7"),
    ]

    assert devices.count_held(consumer.pk, "pump-7") == 3
    assert services.release_device(consumer, "pump-7") == 3

    for job in theirs:
        job.refresh_from_db()
        assert (job.status, job.lease_until, job.next_attempt_at) == (QUEUED, None, None)
        assert (job.attempt, job.failures, job.losses) == (1, 1, 2)
    assert [DeliveryJob.objects.get(pk=job.pk).status for job in others] == [INFLIGHT] * 3
    assert not DeliveryAttempt.objects.exists()
    assert services.release_device(consumer, "pump-7") == 0


def test_a_device_that_is_alive_after_all_has_no_say_any_more(consumer: Consumer, producer: Producer) -> None:
    job = make_leased(consumer, producer, device_id="pump-7")
    services.release_device(consumer, "pump-7")

    assert ack(consumer, Ack(job.pk, COMPLETE, attempt=1, device_id="pump-7")) == [STALE]
    lease(job, device_id="pump-8")
    assert ack(consumer, Ack(job.pk, COMPLETE, attempt=1, device_id="pump-7")) == [STALE]

    job.refresh_from_db()
    assert (job.status, job.attempt, job.device_id) == (INFLIGHT, 2, "pump-8")


def test_what_a_device_has_of_all_consumers_is_found_among_what_is_in_flight(
    consumer: Consumer, producer: Producer
) -> None:
    other = make_consumer(consumer.channel, "other", type="pull")
    held = [make_leased(one, producer, device_id="pump-7").pk for one in (consumer, other)]
    make_leased(consumer, producer, device_id="pump-7", status=1003, lease_until=None)
    make_leased(consumer, producer, device_id="pump-70")

    assert sorted(devices.held_by("pump-7")) == held


@pytest.mark.parametrize("statement", [devices._HELD, devices._COUNT, devices._RELEASE, devices._HELD_BY])
def test_none_of_it_reads_what_is_done(consumer: Consumer, producer: Producer, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status, device_id, received_at)"
            " SELECT n, %s, %s, 0, 1003, 'pump-7', now() FROM generate_series(1, 20000) AS n",
            [consumer.channel_id, consumer.pk],
        )
        cursor.execute("ANALYZE delivery_job")
        make_leased(consumer, producer, device_id="pump-7")
        asked: dict[str, Any] = {"consumer": consumer.pk, "device": "pump-7", "most": 100_000, "devices": 20}
        cursor.execute(f"EXPLAIN {statement}", asked)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "job_in_flight" in plan
    assert "Seq Scan on delivery_job" not in plan
