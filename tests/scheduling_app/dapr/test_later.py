"""A delayed message of Dapr's door: what its row keeps, and that its time to live counts from its sending."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from channels_app.models import DeliveryJob, Message
from scheduling_app.accept import Later, Times, store_batch, store_later
from scheduling_app.dispatch import Lane, dispatch_batch
from scheduling_app.models import ScheduledMessage
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled

AT = Times(asked=1_830_340_800_000_000, due=1_830_340_800_000_000)
TOLD = {"appId": "till", "topic": "grüße", "metadata": {"note": 'a "quote"'}}


@pytest.mark.django_db(transaction=True)
def test_a_group_and_a_batch_keep_what_was_said() -> None:
    ids = make_channel().pk, make_producer().pk
    at_once(store_later, [Later(incoming(ids, "one", ttl_seconds=60), AT, TOLD), Later(incoming(ids, "plain"), AT)])
    batch = partial(store_batch, whole=False, daprs={0: TOLD})
    at_once(lambda connection, message: batch(connection, {0: message}, {0: AT}), incoming(ids, "of a batch"))

    rows = {row.message_id: row for row in ScheduledMessage.objects.all()}
    assert (rows["one"].ttl_seconds, rows["one"].dapr) == (60, TOLD)
    assert (rows["plain"].ttl_seconds, rows["plain"].dapr) == (None, None)
    assert rows["of a batch"].dapr == TOLD


@pytest.mark.django_db
def test_a_time_to_live_counts_from_the_sending() -> None:
    channel, producer = make_channel(max_age_seconds=3600), make_producer()
    make_consumer(channel)
    due = timezone.now() - timedelta(hours=2)
    make_scheduled(channel, producer, "late", scheduled_for=due, ttl_seconds=60)

    assert dispatch_batch(Lane(channel.pk, 0)).messages == 1

    message = Message.objects.get()
    assert message.ttl_seconds == 60
    waits = DeliveryJob.objects.get().expires_at - timezone.now()
    assert timedelta(seconds=30) < waits <= timedelta(seconds=60)
