"""A sweep goes batch by batch, in time, past what stays; and what a batch costs."""

import pytest
import redis
from django.core.management import call_command
from django.utils import timezone

from channels_app import counts
from channels_app.doorbell import FAN_OUT, doorbell
from channels_app.models import Channel, ChannelState, Consumer, DeliveryJob, JobStatus, Message
from reports_app.prune import cancelled, messages, records, sweep
from reports_app.prune.messages import Wanted
from reports_app.prune.tasks import PRUNE, prune
from scheduling_app.models import ScheduledStatus
from tests.acceptance.servers import wait_until
from tests.channels_app.messages import rows_touched
from tests.reports_app.lake import export, left, make_old, make_scheduled, run, statements_of

pytestmark = pytest.mark.django_db


def test_it_goes_on_batch_by_batch_past_what_stays(
    channel: Channel, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    make_old(channel, *(f"m{n}" for n in range(7)))
    DeliveryJob.objects.filter(message__message_id__in=["m0", "m1", "m4"]).update(status=JobStatus.QUEUED)
    export()

    assert sweep.sweep().gone.messages == 4
    assert left() == {"m0", "m1", "m4"}
    assert not counts.check().total


def test_a_sweep_stops_in_time_and_the_next_goes_on_where_it_was(
    channel: Channel, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    make_old(channel, *(f"m{n}" for n in range(4)))
    DeliveryJob.objects.filter(message__message_id__in=["m0", "m1"]).update(status=JobStatus.QUEUED)
    export()

    walk = next(one for one in sweep._walks() if one.column == "pruned_message")
    assert walk.step().total == 0
    walk.remember()
    assert ChannelState.objects.get(pk=channel.pk).pruned_message == Message.objects.get(message_id="m1").pk
    assert sweep.sweep(seconds=0).gone.total == 0
    assert left() == {"m0", "m1", "m2", "m3"}
    assert sweep.sweep().gone.messages == 2
    assert ChannelState.objects.get(pk=channel.pk).pruned_message == 0


class Clock:
    """Every look at it takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def too_much(channel: Channel, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a sweep has time for."""
    make_old(channel, *(f"m{n}" for n in range(8)))
    export()
    monkeypatch.setattr(sweep, "MOST", 1)
    monkeypatch.setattr(sweep, "time", Clock())


@pytest.mark.usefixtures("too_much")
def test_a_sweep_without_time_for_all_says_that_there_is_more_until_all_is_gone() -> None:
    rounds = 1
    while sweep.sweep().has_more:
        rounds += 1

    assert rounds > 2
    assert left() == set()


@pytest.mark.usefixtures("too_much")
def test_where_all_must_stay_a_sweep_that_ran_out_of_time_is_not_followed_at_once() -> None:
    DeliveryJob.objects.update(status=JobStatus.QUEUED)

    assert not sweep.sweep().has_more


@pytest.mark.usefixtures("too_much")
def test_ids_that_there_was_no_time_for_are_more_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST", 1)
    run("UPDATE message_key SET pruned_at = now() - interval '401 days'")
    DeliveryJob.objects.update(status=JobStatus.QUEUED)

    assert sweep.sweep().has_more


@pytest.mark.usefixtures("too_much")
def test_the_next_sweep_is_rung_for_at_once_while_there_is_more(redis_client: redis.Redis) -> None:
    prune()
    wait_until(lambda: bool(redis_client.exists(PRUNE.key)), 10)

    while left():
        prune()
    await_rings(redis_client)
    prune()
    await_rings(redis_client)
    assert not redis_client.exists(PRUNE.key)


def await_rings(redis_client: redis.Redis) -> None:
    """Rings go in their order: with a later one hung, the earlier are too."""
    redis_client.delete(FAN_OUT.key)
    doorbell().ring(FAN_OUT)
    wait_until(lambda: bool(redis_client.exists(FAN_OUT.key)), 30)


def test_deleted_channels_are_pruned_too(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    Channel.objects.update(deleted_at=timezone.now())
    export()

    prune()
    assert left() == set()


def test_a_batch_touches_only_its_own_rows_however_many_there_are(channel: Channel, consumer: Consumer) -> None:
    call_command("make_history", "--messages=30000", "--days=5", "--add", verbosity=0)
    make_old(channel, *(f"m{n}" for n in range(50)))
    make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    export()
    run("ANALYZE")
    wanted = Wanted(channel.pk, 30, None)
    by_message = statements_of(lambda: messages.prune_batch(wanted, after=0, most=20))
    by_cancelled = statements_of(lambda: cancelled.prune_batch(wanted, after=0, most=20))
    assert (len(by_message), len(by_cancelled)) == (2, 1)

    assert sum(rows_touched(sql, told) for sql, told in [*by_message, *by_cancelled]) < 3000
    assert Message.objects.filter(channel=channel, message_id__startswith="m").count() == 30
