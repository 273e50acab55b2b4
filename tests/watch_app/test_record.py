"""The sweep that keeps numbers over time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from channels_app.models import Channel, Consumer, DeliveryJob, Producer
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import make_dead
from tests.watch_app.numbers import flows, points
from watch_app import record as module
from watch_app.models import Flow, Measure, Recorded, Source, Step
from watch_app.record import record, remove_old
from watch_app.series import RANGES, floor, series, since, span_of
from watch_app.values import Scope, Span

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 11, 16, 8, 7, 5, tzinfo=UTC)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def flow(at: datetime, count: int, place: int = 0, **values: int) -> None:
    Flow.objects.create(
        at=at, count=count, place=place,
        **{"channel_id": 1, "consumer_id": 2, "measure": Measure.DELIVERED, **values},
    )  # fmt: skip


def span(start: datetime, steps: int, step: timedelta) -> Span:
    return Span(start, start + steps * step, step)


def test_flows_become_steps_of_every_length_at_three_levels() -> None:
    flow(AT, 3, place=5)
    flow(AT + timedelta(seconds=4), 2, place=1)
    flow(AT + timedelta(seconds=6), 1, place=5)

    assert record() == 3

    assert not Flow.objects.exists()
    rows = Recorded.objects.filter(at__lte=AT + timedelta(seconds=10), delivered__gt=0)
    for level in ((0, 0), (1, 0), (1, 2)):
        found = rows.filter(channel_id=level[0], consumer_id=level[1]).order_by("step", "at")
        assert list(found.values_list("step", "at", "delivered", "latency")) == [
            (Step.TEN_SECONDS, AT.replace(second=0), 5, [0, 2, 0, 0, 0, 3]),
            (Step.TEN_SECONDS, AT.replace(second=10), 1, [0, 0, 0, 0, 0, 1]),
            (Step.MINUTE, AT.replace(second=0), 6, [0, 2, 0, 0, 0, 4]),
            (Step.TEN_MINUTES, AT.replace(minute=0, second=0), 6, [0, 2, 0, 0, 0, 4]),
            (Step.HOUR, AT.replace(minute=0, second=0), 6, [0, 2, 0, 0, 0, 4]),
        ]


def test_what_comes_late_is_added_to_its_step() -> None:
    flow(AT, 3, place=2)
    flow(AT, 2, measure=Measure.RETRIED)
    record()
    flow(AT, 4, place=3)
    flow(AT, 1, measure=Measure.FAILED)
    flow(AT, 5, measure=Measure.RETRIED)
    record()

    [point] = series(Scope(1, 2), span(AT.replace(second=0), 1, timedelta(minutes=1))).points

    assert (point.delivered, point.failed, point.retried) == (7, 1, 7)
    assert Recorded.objects.get(pk=(1, 2, Step.MINUTE, AT.replace(second=0))).latency == [0, 0, 3, 4]


def test_more_than_a_batch_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FOLDED", 2)
    for _ in range(5):
        flow(timezone.now(), 1)

    assert record() == 5
    assert flows()[1] == 5


def test_what_waits_is_written_for_all_and_for_whoever_has_something(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    make_consumer(channel, "idle")
    job = make_job(consumer, producer)
    make_dead(consumer, producer)
    Flow.objects.all().delete()

    record()

    assert set(Recorded.objects.values_list("channel_id", "consumer_id")) == {
        (0, 0),
        (channel.pk, 0),
        (channel.pk, consumer.pk),
    }
    for scope in (Scope(), Scope(channel.pk), Scope(channel.pk, consumer.pk)):
        last = points(scope, "30d")[-1]
        assert (last.queued, last.in_flight, last.letters) == (1, 0, 1)

    DeliveryJob.objects.filter(pk=job.pk).delete()
    record()

    assert points(Scope(channel.pk, consumer.pk), "30d")[-1].queued == 0


def test_letters_of_a_young_broker_are_compared_with_the_first_look_and_not_with_the_step_that_has_begun(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    record()
    Recorded.objects.filter(step=Step.TEN_SECONDS).update(at=F("at") - timedelta(seconds=10))
    make_dead(consumer, producer)
    record()

    for scope in (Scope(), Scope(channel.pk), Scope(channel.pk, consumer.pk)):
        for words in ("15m", "7d", "30d"):
            assert series(scope, span_of(words, timezone.now())).first_letters == 0


def test_letters_are_compared_with_the_step_that_ends_first() -> None:
    start = AT.replace(minute=0, second=0)
    looks = [(3600, 0, 3), (600, 60, 4), (3600, 60, 5)]
    for step, minutes, letters in looks:
        at = start + timedelta(minutes=minutes)
        Recorded.objects.create(channel_id=0, consumer_id=0, step=step, at=at, letters=letters)

    assert series(Scope(), span(start, 2, timedelta(hours=1))).first_letters == 3
    later = span(start + timedelta(hours=1), 1, timedelta(hours=1))
    assert series(Scope(), later).first_letters == 4
    assert series(Scope(7), later).first_letters == 0
    assert series(Scope(), span(start + timedelta(hours=2), 1, timedelta(hours=1))).first_letters is None


def test_whoever_has_no_row_in_a_recorded_step_had_nothing(channel: Channel, consumer: Consumer) -> None:
    record()

    [mine] = points(Scope(channel.pk, consumer.pk), "30d")

    assert (mine.accepted, mine.delivered, mine.queued, mine.letters) == (0, 0, 0, 0)


def test_a_step_in_which_the_sweep_did_not_run_is_a_gap() -> None:
    start = AT.replace(second=0)
    for minutes in (0, 1, 4):
        Recorded.objects.create(channel_id=0, consumer_id=0, step=60, at=start + timedelta(minutes=minutes), queued=1)

    found = series(Scope(), span(start, 5, timedelta(minutes=1))).points

    assert [point.at - start for point in found] == [timedelta(minutes=minutes) for minutes in (0, 1, 4)]


def test_two_steps_in_one_have_the_sum_of_flows_and_the_last_of_what_waits() -> None:
    start = AT.replace(hour=8, minute=0, second=0)
    for hour, queued in ((0, 7), (1, 3)):
        Recorded.objects.create(
            channel_id=0, consumer_id=0, step=3600, at=start + timedelta(hours=hour), delivered=5, queued=queued
        )

    [point] = series(Scope(), span(start, 1, timedelta(hours=2))).points

    assert (point.delivered, point.queued) == (10, 3)


def test_since_has_the_new_points_and_the_totals_of_all() -> None:
    start = AT.replace(second=0)
    for minute in range(5):
        flow(start + timedelta(minutes=minute), 1)

    found = since(Scope(), start + timedelta(minutes=3), span(start, 5, timedelta(minutes=1)))

    assert [point.at.minute for point in found.points] == [10, 11]
    assert found.totals.delivered == 5
    # A step that had begun before is not shown by its rest.
    within = since(Scope(), start + timedelta(minutes=3, seconds=1), span(start, 5, timedelta(minutes=1)))
    assert [point.at.minute for point in within.points] == [11]


@pytest.mark.parametrize("words", RANGES)
def test_a_range_is_a_few_hundred_whole_steps_up_to_now(words: str) -> None:
    length, _ = RANGES[words]

    found = span_of(words, AT)

    assert found.end - found.start == length
    assert found.start == floor(found.start, found.step)
    assert found.end - found.step <= AT < found.end
    assert length / found.step <= 360


def test_steps_go_when_they_are_old_and_hours_last() -> None:
    now = timezone.now()
    ages = {10: timedelta(hours=3), 60: timedelta(hours=49), 600: timedelta(days=9), 3600: timedelta(days=401)}
    for step, age in ages.items():
        for at in (now - age, now - age / 2):
            Recorded.objects.create(channel_id=0, consumer_id=0, step=step, at=at)

    assert remove_old() == 4

    assert sorted(Recorded.objects.values_list("step", flat=True)) == [10, 60, 600, 3600]
    assert settings.WATCH_RETENTION_DAYS == 400


def test_any_number_at_once_count_everything_once(channel: Channel, consumer: Consumer) -> None:
    def sweep(_number: int) -> int:
        try:
            return record()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        for number in range(20):
            make_messages(channel, f"m{number}")
            dispatch(channel)
            list(threads.map(sweep, range(4)))

    record()
    assert flows()[0] == 20
    assert not Flow.objects.exists()


def test_what_is_not_committed_is_not_counted(channel: Channel) -> None:
    with transaction.atomic():
        make_messages(channel, "a")
        dispatch(channel)
        transaction.set_rollback(True)

    record()

    assert flows() == (0, 0, 0, 0, 0)


def test_what_was_recorded_before_tries_again_were_counted_keeps_what_was_shown() -> None:
    for channel_id, failed, dead in ((0, 5, 2), (1, 2, 3), (2, 0, 0)):
        Recorded.objects.create(channel_id=channel_id, consumer_id=0, step=3600, at=AT, failed=failed, dead=dead)

    with connection.cursor() as cursor:
        cursor.execute(import_module("watch_app.migrations.0012_retried").SHOWN)

    assert list(Recorded.objects.order_by("channel_id").values_list("retried", flat=True)) == [3, 0, 0]


def test_rows_say_where_they_are_from() -> None:
    flow(AT, 1)
    record()

    assert set(Recorded.objects.values_list("source", flat=True)) == {Source.RECORDED}
