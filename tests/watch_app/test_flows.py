"""What flows is noted by the statements that move it: exact after every commit, before and after it is folded."""

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from channels_app.delivery import endings, sweeps
from channels_app.models import Channel, ChannelState, Consumer, DeliveryAttempt, DeliveryJob, Message, Producer
from channels_app.pull.expiry import end_unacknowledged
from channels_app.pull.fold import Ack
from channels_app.services import expunge
from dlq_app.models import DeadLetterAct
from dlq_app.services import requeue_jobs
from scheduling_app.dispatch import Lane, dispatch_batch
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.pull.held import COMPLETE, ack, lease
from tests.channels_app.pull.held import FAILED as NACK
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled
from tests.watch_app.engine import DROPPED, EXPIRED, FAILED, OK, RELEASED, take_jobs, try_jobs
from tests.watch_app.numbers import flows, totals
from watch_app.models import Flow, Recorded
from watch_app.record import record
from watch_app.values import Scope

pytestmark = pytest.mark.django_db(transaction=True)

# What ended a try without its consumer's doing.
NOT_FAILED = ("worker_lost", "expired", "consumer_gone", "channel_gone")


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel(retries=1, retry_initial_seconds=0.001)


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def publish(channel: Channel, *names: str) -> None:
    make_messages(channel, *names)
    dispatch(channel)


def test_a_message_counts_once_where_it_was_accepted_and_once_per_consumer(
    channel: Channel, consumer: Consumer
) -> None:
    other = make_consumer(channel, "other")
    publish(channel, "a", "b")

    try_jobs(consumer, OK, OK)
    try_jobs(other, OK, FAILED)

    for _ in range(2):
        assert flows() == (2, 3, 1, 0, 0)
        assert flows(Scope(channel.pk)) == (2, 3, 1, 0, 0)
        assert flows(Scope(channel.pk, consumer.pk)) == (2, 2, 0, 0, 0)
        assert flows(Scope(channel.pk, other.pk)) == (2, 1, 1, 0, 0)
        assert flows(Scope(make_channel(f"quiet-{_}").pk)) == (0, 0, 0, 0, 0)
        record()
    assert not Flow.objects.exists()


def test_what_is_stored_and_not_fanned_out_yet_is_accepted(channel: Channel, consumer: Consumer) -> None:
    make_messages(channel, "a", "b")

    assert flows() == flows(Scope(channel.pk)) == (2, 0, 0, 0, 0)
    dispatch(channel)
    assert flows() == flows(Scope(channel.pk)) == (2, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("outcome", "half_open", "expected"),
    [
        (OK, False, (1, 0, 0, 0)),
        (FAILED, False, (0, 1, 0, 1)),
        (FAILED, True, (0, 1, 0, 1)),
        (DROPPED, False, (0, 1, 1, 0)),
        (RELEASED, False, (0, 0, 0, 0)),
        (EXPIRED, False, (0, 0, 1, 0)),
    ],
)
def test_a_try_is_what_became_of_it(
    channel: Channel, consumer: Consumer, outcome: object, half_open: bool, expected: tuple[int, int, int, int]
) -> None:
    publish(channel, "a")

    try_jobs(consumer, outcome, half_open=half_open)  # type: ignore[arg-type]

    assert (*flows()[1:4], totals().retried) == expected


def test_a_death_without_a_try_hides_no_retry(channel: Channel, consumer: Consumer) -> None:
    publish(channel, "a", "b", "c", "d")

    try_jobs(consumer, OK, FAILED, DROPPED, EXPIRED)

    for _ in range(2):
        for scope in (Scope(), Scope(channel.pk), Scope(channel.pk, consumer.pk)):
            found = totals(scope)
            assert (found.failed, found.dead, found.retried, found.retry_rate) == (2, 2, 1, 1 / 3)
        record()


def test_the_last_try_is_not_tried_again(channel: Channel, consumer: Consumer) -> None:
    publish(channel, "a")

    for _ in range(4):
        try_jobs(consumer, FAILED)
        DeliveryJob.objects.update(next_attempt_at=None)

    assert (*flows()[1:4], totals().retried) == (0, 4, 1, 3)


def test_a_worker_that_is_lost_is_no_failure_of_the_consumer(channel: Channel, consumer: Consumer) -> None:
    publish(channel, "a")
    try_jobs(consumer, FAILED)
    DeliveryJob.objects.update(next_attempt_at=None)
    take_jobs(consumer, 1)
    DeliveryJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))

    sweeps.take_back_lost()

    assert flows()[1:4] == (0, 1, 0)


def test_latency_is_from_acceptance_to_delivery(channel: Channel, consumer: Consumer) -> None:
    publish(channel, "a")
    Message.objects.update(received_at=timezone.now() - timedelta(seconds=40))

    try_jobs(consumer, OK)

    for _ in range(2):
        p50 = totals(Scope(channel.pk, consumer.pk)).latency.p50
        assert p50 is not None
        assert 30 < p50 < 50
        record()


def test_lag_is_from_due_to_dispatched(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    make_scheduled(channel, producer, "late", scheduled_for=timezone.now() - timedelta(seconds=4))
    make_scheduled(channel, producer, "never", scheduled_for=timezone.now() + timedelta(hours=4))

    dispatch_batch(Lane(channel.pk, 0))

    for scope in (Scope(), Scope(channel.pk), Scope(channel.pk, consumer.pk)):
        found = totals(scope)
        assert (found.accepted, found.scheduled) == (1, 1)
        assert found.lag.p50 is not None
        assert 3 < found.lag.p50 < 5


def test_a_made_up_history_is_not_of_now() -> None:
    call_command("make_history", "--messages=300", "--days=2", f"--until={timezone.now():%Y-%m-%d}")

    assert Message.objects.count() == 300
    assert not Flow.objects.exists()


def test_what_is_taken_away_stays_counted(channel: Channel, consumer: Consumer) -> None:
    publish(channel, "a", "b")
    try_jobs(consumer, OK, DROPPED)
    before = flows()
    record()

    [_, second] = Message.objects.order_by("pk")
    expunge(message=second, by="anna")
    for table in ("dead_letter", "dead_letter_act", "delivery_attempt", "delivery_job", "message"):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608
    record()

    assert flows() == before == (2, 1, 1, 1, 0)


def test_after_any_activity_the_totals_are_what_the_database_says(channel: Channel, consumer: Consumer) -> None:
    """Pushed, tried again, dead, redriven, pulled, acknowledged or not, expired, folded in between."""
    puller = make_consumer(channel, "puller", type="pull", ack_timeout_seconds=60)
    deeds = _deeds(channel, consumer, puller)
    chance = random.Random(7)

    for number in range(150):
        chance.choice(deeds)(chance, number)
        if number % 10 == 0:
            assert flows() == _counted(), number
            assert totals().retried == _tried_again(), number

    record()
    assert flows() == _counted()
    assert totals().retried == totals(words="30d").retried == _tried_again() > 10
    _, delivered, failed, dead, _ = flows()
    assert min(delivered, failed, dead) > 10
    by_consumer = [flows(Scope(channel.pk, one.pk)) for one in (consumer, puller)]
    assert [sum(column) for column in zip(*by_consumer, strict=True)][1:4] == [delivered, failed, dead]
    assert flows(words="30d") == flows(words="6h") == flows(words="24h") == flows()
    assert not Recorded.objects.filter(delivered__lt=0).exists()


Deed = Callable[[random.Random, int], object]


def _deeds(channel: Channel, pushed: Consumer, puller: Consumer) -> list[Deed]:
    outcomes = [OK, OK, FAILED, FAILED, DROPPED, RELEASED, EXPIRED]

    def acks(chance: random.Random, _number: int) -> None:
        job = _ready(puller)
        if job is not None:
            ack(puller, Ack(lease(job).pk, chance.choice([COMPLETE, NACK])))

    def lapse(_chance: random.Random, _number: int) -> None:
        job = _ready(puller)
        if job is not None:
            lease(job, -1)
            end_unacknowledged()

    def lose(_chance: random.Random, _number: int) -> None:
        take_jobs(pushed, 2)
        DeliveryJob.objects.filter(status=1002).update(lease_until=timezone.now() - timedelta(seconds=1))
        sweeps.take_back_lost()

    def expire(_chance: random.Random, _number: int) -> None:
        first = _ready(pushed)
        if first is not None:
            DeliveryJob.objects.filter(pk=first.pk).update(expires_at=timezone.now(), priority=9)
            endings.expire_old()

    def redrive(_chance: random.Random, _number: int) -> None:
        dead = DeliveryJob.objects.filter(status=1004).order_by("pk").values_list("pk", flat=True)
        if some := list(dead[:3]):
            requeue_jobs(job_ids=some, by="anna")

    return [
        lambda _chance, number: publish(channel, f"{number}-a", f"{number}-b"),
        lambda chance, _number: try_jobs(pushed, *chance.choices(outcomes, k=4)),
        lambda chance, _number: try_jobs(pushed, chance.choice(outcomes), half_open=True),
        lambda _chance, _number: DeliveryJob.objects.filter(status=1001).update(next_attempt_at=None),
        lambda _chance, _number: record(),
        acks,
        lapse,
        lose,
        expire,
        redrive,
    ]


def _ready(consumer: Consumer) -> DeliveryJob | None:
    jobs = DeliveryJob.objects.filter(consumer=consumer, status=1001, next_attempt_at=None)
    return jobs.order_by("pk").first()


def _counted() -> tuple[int, int, int, int, int]:
    """By the rows. Each death leaves a line in the history of its letter."""
    failed = DeliveryAttempt.objects.exclude(reason=None).exclude(reason__in=NOT_FAILED)
    return (
        sum(ChannelState.objects.values_list("last_sequence", flat=True)),
        DeliveryAttempt.objects.filter(reason=None).count(),
        failed.count(),
        DeadLetterAct.objects.filter(act="entered").count(),
        0,
    )


def _tried_again() -> int:
    """A death by failure is of a failed try, which was the last."""
    deaths = DeadLetterAct.objects.filter(act="entered").exclude(reason__in=(*NOT_FAILED, "poison"))
    return _counted()[2] - deaths.count()
