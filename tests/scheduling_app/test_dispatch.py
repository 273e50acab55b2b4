"""What is due becomes messages: in order, once, never early, whatever the clock says."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from channels_app import counts
from channels_app.models import Channel, ChannelState, DeliveryJob, Message, MessageKey, Producer
from channels_app.selectors import get_message
from channels_app.services import expunge
from scheduling_app import dispatch
from scheduling_app.dispatch import Lane
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def stored() -> list[str]:
    return list(Message.objects.order_by("pk").values_list("message_id", flat=True))


def test_order_is_by_due_time_and_then_by_arrival(channel: Channel, producer: Producer) -> None:
    for name, seconds in (("late", 3), ("first", 1), ("second", 1), ("never", 60)):
        make_scheduled(channel, producer, name, scheduled_for=at(seconds))

    done = dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(10))

    assert (done.messages, done.refused) == (3, 0)
    assert stored() == ["first", "second", "late"]
    assert [round(lag) for lag in done.lags] == [9, 9, 7]
    assert list(Message.objects.order_by("pk").values_list("sequence", flat=True)) == [1, 2, 3]
    assert not counts.check().total


def test_a_message_carries_everything_and_has_its_jobs(channel: Channel, producer: Producer) -> None:
    consumers = {make_consumer(channel, name).pk for name in ("a", "b")}
    content = {
        "payload": b"\x00\xff",
        "content_type": "image/x",
        "priority": 7,
        "headers": {"X-A": "1"},
        "partition": 3,
    }
    scheduled = make_scheduled(channel, producer, "m", scheduled_for=at(0), **content)

    done = dispatch.dispatch_batch(Lane(channel.pk, 3), now=at(1))

    message = get_message(channel, "m")
    kept = {name: getattr(message, name) for name in content} | {"payload": bytes(message.payload)}
    assert kept == content
    assert (message.status, message.producer_id) == (101, producer.pk)
    assert done.work.push == consumers
    jobs = DeliveryJob.objects.filter(message=message)
    assert set(jobs.values_list("consumer_id", "partition", "priority")) == {(one, 3, 7) for one in consumers}
    scheduled.refresh_from_db()
    assert (scheduled.status, scheduled.dispatched_at) == (ScheduledStatus.DISPATCHED, at(1))
    assert not counts.check().total


def test_nothing_goes_early_or_twice(channel: Channel, producer: Producer) -> None:
    lane = Lane(channel.pk, 0)
    for days in (40, 3 * 365):
        make_scheduled(channel, producer, f"in-{days}-days", scheduled_for=NOW + timedelta(days=days))

    for now in (at(0), NOW + timedelta(days=40, microseconds=-1)):
        assert dispatch.dispatch_batch(lane, now=now).is_empty
    assert dispatch.dispatch_batch(lane, now=NOW + timedelta(days=40)).messages == 1
    assert dispatch.dispatch_batch(lane, now=NOW + timedelta(days=40)).is_empty
    assert dispatch.dispatch_batch(lane, now=NOW + timedelta(days=3 * 365)).messages == 1
    assert stored() == ["in-40-days", "in-1095-days"]


def test_a_batch_ends_at_its_rows_and_bytes(
    channel: Channel, producer: Producer, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULER_BATCH_SIZE = 2  # type: ignore[attr-defined]
    for number in range(3):
        make_scheduled(channel, producer, f"m{number}", scheduled_for=at(number))
    large = make_channel("large")
    for number in range(3):
        make_scheduled(large, producer, f"l{number}", scheduled_for=at(number), payload=b"x" * (5 * 1024 * 1024))

    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(9)).messages == 2
    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(9)).messages == 1
    settings.SCHEDULER_BATCH_SIZE = 100  # type: ignore[attr-defined]
    # The second begins within the limit.
    assert dispatch.dispatch_batch(Lane(large.pk, 0), now=at(9)).messages == 2


def test_what_cannot_move_is_set_aside_and_holds_up_nobody(channel: Channel, producer: Producer) -> None:
    taken = make_scheduled(channel, producer, "taken", scheduled_for=at(0))
    make_scheduled(channel, producer, "fine", scheduled_for=at(1))
    MessageKey.objects.filter(message_id="taken").update(scheduled=False, row_id=4711)

    done = dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(2))

    assert (done.messages, done.refused, stored()) == (1, 1, ["fine"])
    taken.refresh_from_db()
    assert (taken.status, taken.reason) == (ScheduledStatus.SET_ASIDE, "id_taken")
    assert dispatch.next_due_in(Lane(channel.pk, 0)) is None


def test_messages_of_a_deleted_channel_are_cancelled(channel: Channel, producer: Producer) -> None:
    gone = make_scheduled(channel, producer, "m", scheduled_for=at(0))
    Channel.objects.filter(pk=channel.pk).update(deleted_at=NOW)

    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(1)).refused == 1

    gone.refresh_from_db()
    assert (gone.status, gone.reason, stored()) == (ScheduledStatus.CANCELLED, "channel_gone", [])


def test_lanes_are_told_by_their_first(channel: Channel, producer: Producer) -> None:
    other = make_channel("other")
    make_scheduled(channel, producer, "a", scheduled_for=at(5), partition=1)
    make_scheduled(channel, producer, "b", scheduled_for=at(2), partition=1)
    make_scheduled(channel, producer, "c", scheduled_for=at(60), partition=2)
    make_scheduled(other, producer, "d", scheduled_for=at(-1))

    found = {(lane.channel_id, lane.partition): round(wait) for lane, wait in dispatch.lanes_due(5, now=at(0))}

    assert found == {(channel.pk, 1): 2, (other.pk, 0): -1}
    assert Lane.numbered(Lane(channel.pk, 63).number) == Lane(channel.pk, 63)


def test_a_release_rate_lets_go_as_much_as_it_says(channel: Channel, producer: Producer) -> None:
    """20 a second: two in each tenth, and what is left says when it may go."""
    Channel.objects.filter(pk=channel.pk).update(release_per_second=20)
    lane = Lane(channel.pk, 0)
    for number in range(6):
        make_scheduled(channel, producer, f"m{number}", scheduled_for=at(0))

    assert dispatch.dispatch_batch(lane, now=at(1)).messages == 2
    assert dispatch.dispatch_batch(lane, now=at(1)).is_empty
    wait = dispatch.next_due_in(lane, now=at(1))
    assert wait == pytest.approx(0.05, abs=0.001)
    assert dispatch.dispatch_batch(lane, now=at(1.05)).messages == 1
    assert dispatch.dispatch_batch(lane, now=at(60)).messages == 2
    assert ChannelState.objects.get(channel=channel).released_until == at(60)


def test_a_slow_release_rate_lets_one_go_at_a_time(channel: Channel, producer: Producer) -> None:
    Channel.objects.filter(pk=channel.pk).update(release_per_second=0.5)
    lane = Lane(channel.pk, 0)
    for number in range(2):
        make_scheduled(channel, producer, f"m{number}", scheduled_for=at(0))

    moved = [dispatch.dispatch_batch(lane, now=at(seconds)).messages for seconds in (10, 11, 12)]

    assert moved == [1, 0, 1]
    assert ScheduledMessage.objects.waiting().count() == 0


def test_an_expunged_message_is_gone_from_where_it_waited_too(channel: Channel, producer: Producer) -> None:
    scheduled = make_scheduled(channel, producer, "m", scheduled_for=at(0), payload=b"secret")
    dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(1))

    expunge(message=get_message(channel, "m"), by="staff")

    scheduled.refresh_from_db()
    assert bytes(scheduled.payload) == b""


@pytest.mark.parametrize("rate", [0.001, 0.3, 1.7, 2.6, 3.7, 4.1, 7.3, 9.9, 13.7, 1_000_000.0])
def test_every_release_rate_lets_something_go(channel: Channel, producer: Producer, rate: float) -> None:
    Channel.objects.filter(pk=channel.pk).update(release_per_second=rate)
    make_scheduled(channel, producer, "m", scheduled_for=at(0))

    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(1)).messages == 1


def test_a_clock_that_was_put_back_holds_up_nothing(channel: Channel, producer: Producer) -> None:
    Channel.objects.filter(pk=channel.pk).update(release_per_second=20)
    ChannelState.objects.filter(channel=channel).update(released_until=at(3600))
    make_scheduled(channel, producer, "m", scheduled_for=at(0))

    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(1)).messages == 1


def test_a_batch_reads_only_its_own_keys_before_the_statistics_know_its_channel(
    channel: Channel, producer: Producer, settings: Any
) -> None:
    """Younger than the last ANALYZE, a channel of many keys looks to the planner like a channel of one."""
    settings.SCHEDULER_BATCH_SIZE = 20
    fill_keys(make_channel("old"), 2_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE message_key")
    fill_keys(channel, 2_000)
    for number in range(20):
        make_scheduled(channel, producer, f"due-{number}", scheduled_for=at(1))

    before = keys_read()
    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(10)).messages == 20

    assert keys_read() - before <= 4 * 20


def fill_keys(channel: Channel, number: int) -> None:
    MessageKey.objects.bulk_create(
        [MessageKey(channel_id=channel.pk, message_id=f"k-{place}", row_id=-place) for place in range(number)]
    )


# Fetched by this transaction, from the table and from its index.
KEYS_READ = """
SELECT pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid) + (
    SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint FROM pg_index WHERE indrelid = c.oid
) FROM pg_class c WHERE relname = 'message_key'
"""


def keys_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(KEYS_READ)
        return int(cursor.fetchone()[0])
