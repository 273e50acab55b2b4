"""A message with a time to live: its jobs wait no longer than that, nor than their channel allows."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from channels_app.delivery import endings
from channels_app.delivery.accept import store
from channels_app.delivery.accept_batch import store_new
from channels_app.delivery.endings import WINDOW, expire_old
from channels_app.models import DeliveryJob, JobStatus, Message
from channels_app.models.channel import Channel
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer, make_producer


@pytest.fixture
def channel(db: None) -> Channel:
    channel = make_channel(max_age_seconds=3600)
    make_consumer(channel)
    return channel


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", [store, store_new])
def test_both_ways_in_keep_it(step: object) -> None:
    ids = make_channel().pk, make_producer().pk
    at_once(step, [incoming(ids, "short", ttl_seconds=60), incoming(ids, "plain")])  # type: ignore[arg-type]
    assert dict(Message.objects.values_list("message_id", "ttl_seconds")) == {"short": 60, "plain": None}


@pytest.mark.parametrize(("ttl", "seconds"), [(None, 3600), (60, 60), (999_999, 3600)])
def test_the_sooner_end_counts(channel: Channel, ttl: int | None, seconds: int) -> None:
    [message] = make_messages(channel, "m", ttl_seconds=ttl)
    dispatch(channel)
    message.refresh_from_db()
    waits = DeliveryJob.objects.get().expires_at - message.received_at
    assert abs(waits - timedelta(seconds=seconds)) < timedelta(seconds=30)


def test_it_counts_from_when_the_message_was_received(channel: Channel) -> None:
    make_messages(channel, "old", ttl_seconds=60, received_at=timezone.now() - timedelta(hours=1))
    make_messages(channel, "young", ttl_seconds=60)
    dispatch(channel)
    expire_old()
    jobs = {job.message.message_id: job for job in DeliveryJob.objects.select_related("message")}
    assert (jobs["old"].status, jobs["old"].reason) == (JobStatus.DEAD, "expired")
    assert jobs["young"].status == JobStatus.QUEUED


def test_one_that_is_over_ends_behind_however_many_older_ones(channel: Channel) -> None:
    make_messages(channel, *(f"m{number}" for number in range(WINDOW + 1)))
    make_messages(channel, "short", ttl_seconds=60, received_at=timezone.now() - timedelta(hours=1))
    dispatch(channel)

    assert expire_old() == 1

    dead = DeliveryJob.objects.select_related("message").get(status=JobStatus.DEAD)
    assert (dead.message.message_id, dead.reason) == ("short", "expired")


def test_those_with_a_time_to_live_are_found_by_their_index(channel: Channel) -> None:
    make_messages(channel, *(f"m{number}" for number in range(500)))
    make_messages(channel, "short", ttl_seconds=60)
    dispatch(channel)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delivery_job")
        cursor.execute(f"EXPLAIN {endings._EXPIRE_TTL}", {"most": 10})
        assert "job_with_ttl" in str(cursor.fetchall())
