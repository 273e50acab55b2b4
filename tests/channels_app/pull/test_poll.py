"""Polling by index: which messages come, in which order, and why none does."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone
from psycopg import AsyncConnection

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery.endings import bury_gone, expire_old
from channels_app.errors import UnknownConsumer
from channels_app.models import Consumer, ConsumerState, DeliveryJob, JobStatus, Message
from channels_app.pull.index import poll as polling
from channels_app.pull.index.again import Expunged, NoSuchIndex, NotSentYet
from channels_app.pull.index.places import Place
from channels_app.pull.index.window import Nothing, Window
from tests.channels_app.pull.pollers import make_poller, publish, together
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db(transaction=True)

INFLIGHT, DELIVERED, DEAD, QUEUED = JobStatus.INFLIGHT, JobStatus.DELIVERED, JobStatus.DEAD, JobStatus.QUEUED


# acked, sent, last, cap, from, limit -> after, until, or the reason.
WINDOWS = [
    ((0, 0, 100, 10, 0, 25), (0, 10)),
    ((0, 0, 100, 10, 0, 5), (0, 5)),
    ((0, 0, 3, 10, 0, 25), (0, 3)),
    ((0, 4, 100, 10, 0, 25), (4, 10)),
    ((3, 4, 100, 10, 6, 4), (6, 10)),
    ((0, 0, 0, 10, 0, 25), Nothing.CAUGHT_UP),
    ((5, 5, 5, 10, 5, 25), Nothing.CAUGHT_UP),
    ((0, 5, 5, 10, 5, 25), Nothing.CAUGHT_UP),
    ((0, 10, 10, 10, 10, 25), Nothing.CAUGHT_UP),
    ((0, 5, 5, 10, 0, 25), Nothing.CAUGHT_UP),
    ((0, 10, 100, 10, 10, 25), Nothing.UNACKED_CAP_REACHED),
    ((0, 10, 100, 10, 0, 25), Nothing.UNACKED_CAP_REACHED),
    ((0, 4, 100, 10, 10, 25), Nothing.UNACKED_CAP_REACHED),
    # The cap was lowered meanwhile.
    ((0, 10, 100, 3, 10, 25), Nothing.UNACKED_CAP_REACHED),
    ((0, 4, 100, 10, 11, 25), Nothing.BEYOND_WINDOW),
    ((0, 4, 5, 10, 6, 25), Nothing.BEYOND_WINDOW),
    ((0, 5, 100, 10, 0, 5), Nothing.ALREADY_SENT),
    ((0, 5, 100, 10, 0, 3), Nothing.ALREADY_SENT),
    ((0, 5, 5, 10, 0, 5), Nothing.ALREADY_SENT),
]


@pytest.mark.parametrize(("given", "expected"), WINDOWS)
def test_a_window_is_what_the_formula_says_or_says_why_it_is_empty(
    given: tuple[int, int, int, int, int, int], expected: tuple[int, int] | Nothing
) -> None:
    acked, sent, last, cap, start, limit = given
    window = Window(Place(1, 1, acked, sent, last, cap), start, limit)

    found = window.why_nothing() if window.is_empty else (window.after, window.until)

    assert found == expected


@pytest.mark.parametrize("stopped", ["paused", "disabled"])
def test_a_window_of_one_that_is_stopped_is_empty(stopped: str) -> None:
    window = Window(Place(1, 1, 0, 0, 5, 10, stopped), 0, 25)

    assert window.is_empty
    assert window.why_nothing() == stopped


def test_with_ten_unacked_nothing_comes_and_after_one_ack_one_more() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 20)

    assert poller.take() == list(range(1, 11))
    assert (poller.poll().items, poller.poll().reason) == ([], Nothing.UNACKED_CAP_REACHED)

    poller.ack(1)
    assert poller.take() == [11]


def test_what_is_polled_is_in_flight_without_a_lease() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 2)

    [first, _] = poller.poll().items

    job = poller.job(1)
    assert (job.status, job.attempt, job.lease_until) == (INFLIGHT, 1, None)
    assert job.received_at is not None
    assert (first.job_id, first.attempt, first.message_id, first.payload) == (job.pk, 1, "m1", b"hello")
    assert poller.indexes == (0, 2)


def test_the_order_is_by_index_whatever_the_priorities() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 2, priority=0)
    publish(poller.consumer.channel, 2, priority=9)

    assert [(item.index, item.priority) for item in poller.poll().items] == [(1, 0), (2, 0), (3, 9), (4, 9)]


def test_index_four_is_given_again_and_nothing_moves() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 5)
    poller.poll(limit=4)
    poller.ack(4)

    found = poller.message_at(4)

    assert (found.index, found.message_id, found.attempt) == (4, "m4", 1)
    assert poller.indexes == (0, 4)
    assert poller.job(4).status == DELIVERED


def test_an_index_that_was_not_sent_or_is_not_there_is_refused() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 5)
    poller.poll(limit=2)

    for index, refusal in ((3, NotSentYet), (6, NoSuchIndex), (0, NoSuchIndex), (10**17, NoSuchIndex)):
        with pytest.raises(refusal):
            poller.message_at(index)


def test_an_expunged_message_is_passed_over_and_gone() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 3)
    services.expunge(message=Message.objects.get(sequence=2), by="a test")

    assert poller.take() == [1, 3]
    with pytest.raises(Expunged):
        poller.message_at(2)
    poller.ack(1)
    assert poller.indexes == (2, 3)


def test_dead_jobs_are_passed_over_and_count_as_acknowledged() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 15)
    DeliveryJob.objects.filter(message__sequence__lte=12).update(status=DEAD, reason="expired")

    assert poller.take() == [13, 14, 15]
    assert poller.indexes == (12, 15)


def test_with_nothing_but_dead_jobs_it_is_caught_up() -> None:
    poller = make_poller(unacked_cap=2)
    publish(poller.consumer.channel, 30)
    DeliveryJob.objects.update(status=DEAD, reason="expired")

    polled = poller.poll()

    assert (polled.items, polled.reason) == ([], Nothing.CAUGHT_UP)
    assert poller.indexes == (30, 30)


def test_dead_jobs_behind_an_open_one_fill_the_window() -> None:
    poller = make_poller(unacked_cap=5)
    publish(poller.consumer.channel, 10)
    DeliveryJob.objects.filter(message__sequence__range=(2, 5)).update(status=DEAD, reason="expired")

    assert poller.take() == [1]
    assert poller.poll().reason == Nothing.UNACKED_CAP_REACHED
    poller.ack(1)
    assert poller.take() == [6, 7, 8, 9, 10]


def test_a_log_does_not_age() -> None:
    """Whoever reads it late finds all of it, without a hole that nobody speaks of."""
    poller = make_poller(make_channel(max_age_seconds=60))
    publish(poller.consumer.channel, 3)
    past = timezone.now() - timedelta(seconds=1)
    DeliveryJob.objects.filter(message__sequence__lte=2).update(expires_at=past)

    assert expire_old() == 0
    assert poller.take() == [1, 2, 3]


def test_what_from_leaps_over_stays_open_and_holds_acked_back() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 6)

    assert poller.take(start=3) == [4, 5, 6]
    for index in (4, 5, 6):
        poller.ack(index)

    assert poller.indexes == (0, 6)
    assert poller.statuses() == [QUEUED] * 3 + [DELIVERED] * 3
    assert poller.message_at(2).message_id == "m2"
    poller.ack_up_to(3)
    assert poller.indexes == (6, 6)


def test_a_poll_ends_at_eight_mebibytes_and_the_next_goes_on_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "MOST_BYTES", 250)
    poller = make_poller()
    publish(poller.consumer.channel, 5, payload=b"x" * 100)

    assert poller.take() == [1, 2, 3]
    assert poller.indexes == (0, 3)
    assert poller.take() == [4, 5]


@pytest.mark.parametrize("whose", ["consumer", "channel"])
def test_nothing_is_handed_out_in_a_pause(whose: str) -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 3)
    row = poller.consumer if whose == "consumer" else poller.consumer.channel
    services.pause(row)

    polled = poller.poll()

    assert (polled.items, polled.reason, poller.indexes) == ([], Nothing.PAUSED, (0, 0))
    services.resume(row)
    assert poller.take() == [1, 2, 3]


def test_what_came_while_it_was_disabled_gets_its_jobs_when_it_is_polled() -> None:
    poller = make_poller()
    ConsumerState.objects.update(disabled_at=timezone.now(), disabled_reason="gone")
    publish(poller.consumer.channel, 2)
    assert poller.poll().reason == Nothing.DISABLED

    services.resume(poller.consumer)

    assert poller.take() == [1, 2]
    assert poller.statuses() == [INFLIGHT, INFLIGHT]


def test_two_consumers_at_different_speeds_do_not_affect_each_other() -> None:
    channel = make_channel()
    quick, slow = make_poller(channel, "quick"), make_poller(channel, "slow")
    publish(channel, 30)

    for _ in range(3):
        taken = quick.take()
        quick.ack_up_to(taken[-1])
    assert slow.take(limit=2) == [1, 2]

    assert (quick.indexes, slow.indexes) == ((30, 30), (0, 2))


def test_one_that_is_gone_or_leases_now_is_unknown() -> None:
    poller = make_poller()
    Consumer.objects.update(pull_mode="lease")

    with pytest.raises(UnknownConsumer):
        poller.poll()


def test_what_one_had_polled_ends_when_it_is_deleted() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 12)
    poller.poll()
    services.delete(poller.consumer, condition=Condition(etags=frozenset({poller.consumer.etag})))
    Consumer.objects.update(deleted_at=timezone.now() - timedelta(hours=1))

    bury_gone()
    bury_gone()

    assert set(DeliveryJob.objects.values_list("status", "reason")) == {(DEAD, "consumer_gone")}


def test_concurrent_polls_never_overlap_and_never_skip() -> None:
    poller = make_poller(unacked_cap=1000)
    publish(poller.consumer.channel, 200)
    parameters = connection.get_connection_params()
    address = psycopg.conninfo.make_conninfo(**{name: parameters[name] for name in ("dbname", "user", "host")})

    async def drain() -> list[list[int]]:
        ranges: list[list[int]] = []
        async with await AsyncConnection.connect(address, autocommit=True) as own:
            while polled := (await polling.poll(own, poller.consumer.pk, start=None, limit=7)).items:
                ranges.append([item.index for item in polled])
        return ranges

    async def race() -> list[int]:
        drained = await together(*(drain() for _ in range(6)))
        return [index for ranges in drained for one in ranges for index in one]

    indexes = asyncio.run(race())

    assert sorted(indexes) == list(range(1, 201))
    assert set(DeliveryJob.objects.values_list("attempt", flat=True)) == {1}


def old(hours: int = 1) -> dict[str, Any]:
    return {"ttl_seconds": 60, "received_at": timezone.now() - timedelta(hours=hours)}


def test_what_is_over_by_its_own_time_to_live_is_dead_and_not_handed_out() -> None:
    poller = make_poller()
    channel = poller.consumer.channel
    publish(channel, 1)
    publish(channel, 2, **old())
    publish(channel, 1, ttl_seconds=60)
    publish(channel, 1, **old())

    assert poller.take() == [1, 4]
    assert poller.statuses() == [INFLIGHT, DEAD, DEAD, INFLIGHT, DEAD]
    assert {poller.job(index).reason for index in (2, 3, 5)} == {"expired"}
    poller.ack_up_to(5)
    assert poller.indexes == (5, 5)


def test_a_poll_goes_on_behind_what_is_over() -> None:
    poller = make_poller(unacked_cap=2)
    publish(poller.consumer.channel, 7, **old())
    publish(poller.consumer.channel, 1)

    assert poller.take() == [8]
    assert poller.statuses() == [DEAD] * 7 + [INFLIGHT]


def test_what_was_over_before_the_consumer_came_is_dead_too() -> None:
    channel = make_channel()
    publish(channel, 2, **old())
    publish(channel, 1)
    poller = make_poller(channel)
    poller.seek(0)

    assert poller.take() == [3]
    assert poller.statuses() == [DEAD, DEAD, INFLIGHT]
    assert poller.job(1).reason == "expired"


def test_what_is_over_ends_without_a_poll_too() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 1)
    publish(poller.consumer.channel, 1, **old())

    assert expire_old() == 1
    assert poller.statuses() == [QUEUED, DEAD]
