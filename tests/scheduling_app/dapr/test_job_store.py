"""Jobs as rows, on real connections at once: a name stands for one job at a time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from channels_app import counts
from channels_app.models import Channel, Message, MessageKey, Producer
from scheduling_app import dispatch
from scheduling_app.accept import Later, Times
from scheduling_app.dapr import job_rows
from scheduling_app.dapr.job import JobIn, Recurring, planned
from scheduling_app.dapr.job_errors import JobExists, JobTaken
from scheduling_app.dispatch import Lane
from scheduling_app.models import RecurringSchedule, ScheduledMessage
from scheduling_app.recurring import tick
from scheduling_app.shots import Shot, store_shots
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db(transaction=True)

AT = Times(asked=1_893_499_200_000_001, due=1_893_499_201_000_000)
FUTURE = datetime.fromtimestamp(AT.due / 1e6, UTC)


@pytest.fixture
def channel() -> Channel:
    return make_channel("shop-jobs")


@pytest.fixture
def shop() -> Producer:
    return make_producer("shop")


class Shots:
    """Jobs that run once, each with a message id of its own."""

    def __init__(self, channel: Channel, producer: Producer) -> None:
        self.ids, self.number = (channel.pk, producer.pk), 0

    def __call__(self, name: str, payload: bytes = b"x", *, overwrite: bool = False, **more: Any) -> Shot:
        self.number += 1
        message = incoming(self.ids, f"{name}-{self.number}", payload, **more)
        return Shot(Later(message, AT), name, {"dueTime": "1s"}, overwrite)


@pytest.fixture
def shot(channel: Channel, shop: Producer) -> Shots:
    return Shots(channel, shop)


def recurring(channel: Channel, shop: Producer, name: str = "a", **job: Any) -> RecurringSchedule:
    asked = JobIn(**{"schedule": "@every 30s", **job})
    plan = planned(asked, timezone.now())
    assert isinstance(plan, Recurring)
    row = job_rows.recurring_row(plan, asked)
    row.channel, row.producer, row.public_id = channel, shop, name
    return row


def make(row: RecurringSchedule, *, overwrite: bool = False) -> None:
    job_rows.make_recurring(row, overwrite=overwrite, now=timezone.now())


def waiting() -> dict[str, bytes]:
    rows = ScheduledMessage.objects.waiting().values_list("job_name", "payload")
    return {str(name): bytes(payload) for name, payload in rows}


def live() -> list[str]:
    return list(RecurringSchedule.objects.live().order_by("pk").values_list("public_id", flat=True))


def test_every_value_comes_back_as_it_was(shot: Shots) -> None:
    sent = shot("a", b"\x00\xff", content_type="x/y", headers={"Dapr-Job-Name": "a"}, partition=3, ttl_seconds=9)

    assert at_once(store_shots, [sent]) == [[True]]

    row = ScheduledMessage.objects.get()
    assert (bytes(row.payload), row.content_type, row.headers) == (b"\x00\xff", "x/y", {"Dapr-Job-Name": "a"})
    assert (row.partition, row.ttl_seconds, row.job_name, row.job) == (3, 9, "a", {"dueTime": "1s"})
    assert row.due_at == FUTURE
    assert MessageKey.objects.values_list("message_id", "row_id", "scheduled").get() == ("a-1", row.pk, True)
    assert not counts.check().total


def test_the_first_of_a_name_is_stored(shot: Shots) -> None:
    group = [shot("a", b"1"), shot("b", b"2"), shot("a", b"3")]

    assert at_once(store_shots, group) == [[True, True, False]]
    assert at_once(store_shots, [shot("b")]) == [[False]]
    assert waiting() == {"a": b"1", "b": b"2"}


def test_overwrite_takes_its_place_one_after_the_other(shot: Shots) -> None:
    at_once(store_shots, [shot("a", b"0"), shot("b", b"0")])
    group = [shot("a", b"1", overwrite=True), shot("a", b"2"), shot("a", b"3", overwrite=True), shot("c", b"4")]

    assert at_once(store_shots, group) == [[True, False, True, True]]
    assert waiting() == {"a": b"3", "b": b"0", "c": b"4"}
    assert ScheduledMessage.objects.filter(status=102, reason="overwritten").count() == 2


def test_a_name_is_free_when_its_job_has_run(shot: Shots, channel: Channel) -> None:
    at_once(store_shots, [shot("a", b"1")])
    dispatch.dispatch_batch(Lane(channel.pk, 0), now=FUTURE + timedelta(seconds=1))

    assert at_once(store_shots, [shot("a", b"2")]) == [[True]]
    assert waiting() == {"a": b"2"}
    assert Message.objects.values_list("message_id", flat=True).get() == "a-1"


def test_a_name_is_free_when_its_job_was_deleted(shot: Shots, channel: Channel, shop: Producer) -> None:
    at_once(store_shots, [shot("a", b"1")])
    assert job_rows.delete(channel.pk, "a", shop.pk)
    assert not job_rows.delete(channel.pk, "a", shop.pk)

    assert at_once(store_shots, [shot("a", b"2")]) == [[True]]
    assert waiting() == {"a": b"2"}


def test_another_application_has_names_of_its_own(shot: Shots, shop: Producer) -> None:
    other = Shots(make_channel("bank-jobs"), shop)

    assert at_once(store_shots, [shot("a"), other("a")]) == [[True, True]]


def test_groups_with_the_same_names_at_once_store_each_once(shot: Shots) -> None:
    names = [f"job{number}" for number in range(200)]
    groups = [[shot(name) for name in order] for order in (names, names[::-1], names[::2] + names[1::2])]

    outcomes = at_once(store_shots, *groups)

    assert sum(sum(outcome) for outcome in outcomes) == 200
    assert sorted(waiting()) == sorted(names)


def test_overwriting_groups_at_once_all_come_through(shot: Shots) -> None:
    groups = [[shot(f"job{number}", overwrite=True) for number in range(20)] for _ in range(4)]

    assert all(all(outcome) for outcome in at_once(store_shots, *groups))
    assert len(waiting()) == 20
    assert not counts.check().total


def test_a_schedule_has_its_name_alone(shot: Shots, channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop))

    assert at_once(store_shots, [shot("a"), shot("b")]) == [[False, True]]
    for name in ("a", "b"):
        with pytest.raises(JobExists):
            make(recurring(channel, shop, name))
    assert (live(), list(waiting())) == (["a"], ["b"])


def test_a_job_of_one_kind_overwrites_one_of_the_other(shot: Shots, channel: Channel, shop: Producer) -> None:
    at_once(store_shots, [shot("a", b"1")])
    make(recurring(channel, shop), overwrite=True)
    assert (live(), waiting()) == (["a"], {})

    assert at_once(store_shots, [shot("a", b"2", overwrite=True)]) == [[True]]
    assert (live(), waiting()) == ([], {"a": b"2"})

    make(recurring(channel, shop), overwrite=True)
    make(recurring(channel, shop, schedule="@daily"), overwrite=True)
    assert RecurringSchedule.objects.live().get().cron == "0 0 * * *"


def test_another_producers_job_is_not_shown_nor_touched(shot: Shots, channel: Channel, shop: Producer) -> None:
    bank = make_producer("bank")
    at_once(store_shots, [shot("a", b"1")])
    make(recurring(channel, shop, "b"))
    other = Shots(channel, bank)

    for name in ("a", "b"):
        assert job_rows.find(channel.pk, name, bank.pk) is None
        assert not job_rows.delete(channel.pk, name, bank.pk)
        with pytest.raises(JobExists):
            make(recurring(channel, bank, name), overwrite=True)
    other.number = 10
    assert at_once(store_shots, [other("a", overwrite=True), other("b", overwrite=True)]) == [[False, False]]
    assert (live(), waiting()) == (["b"], {"a": b"1"})


def test_a_schedule_that_is_no_job_is_not_shown_nor_touched(shot: Shots, channel: Channel, shop: Producer) -> None:
    own = recurring(channel, shop)
    own.job = None
    own.save()

    assert job_rows.find(channel.pk, "a", shop.pk) is None
    assert not job_rows.delete(channel.pk, "a", shop.pk)
    assert at_once(store_shots, [shot("a", overwrite=True)]) == [[False]]
    with pytest.raises(JobTaken):
        make(recurring(channel, shop), overwrite=True)
    own.next_at = None
    own.save()
    with pytest.raises(JobExists):
        make(recurring(channel, shop))
    assert RecurringSchedule.objects.live().get().pk == own.pk


def test_who_may_not_overwrite_a_job_is_not_told_to(channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop))

    with pytest.raises(JobTaken, match="overwrite replaces neither"):
        make(recurring(channel, make_producer("bank")), overwrite=True)


def test_a_job_is_found_as_it_was_asked_for(shot: Shots, channel: Channel, shop: Producer) -> None:
    at_once(store_shots, [shot("once", b"1")])
    make(recurring(channel, shop, "often", repeats=2, data=b'{"a": 1}'))

    assert job_rows.find(channel.pk, "once", shop.pk) == JobIn(due_time="1s", data=b"1", content_type="text/plain")
    assert job_rows.find(channel.pk, "often", shop.pk) == JobIn(schedule="@every 30s", repeats=2, data=b'{"a": 1}')
    assert job_rows.find(channel.pk, "never", shop.pk) is None


def drain(now: datetime) -> None:
    while not tick.tick_batch(now=now).is_empty:
        pass


def test_a_schedule_runs_as_often_as_it_should_and_is_gone(channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop, schedule="@every 1s", repeats=3, data=b"{{tick}}"))
    begin = RecurringSchedule.objects.get().start_at

    for second in range(1, 6):
        drain(begin + timedelta(seconds=second))

    made = ScheduledMessage.objects.order_by("pk")
    assert [(row.scheduled_for - begin).total_seconds() for row in made] == [1, 2, 3]
    # Data is no template.
    assert {bytes(row.payload) for row in made} == {b"{{tick}}"}
    assert RecurringSchedule.objects.get().state == "ended"
    assert job_rows.find(channel.pk, "a", shop.pk) is None
    make(recurring(channel, shop))
    assert live() == ["a"]


def test_a_job_that_overwrites_another_may_run_in_the_same_second(channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop, due_time="1s"))
    first = RecurringSchedule.objects.get().next_at
    assert first is not None
    drain(first)

    again = recurring(channel, shop, due_time="1s", data=b"2")
    again.start_at = again.next_at = first
    make(again, overwrite=True)
    drain(first)

    assert [bytes(row.payload) for row in ScheduledMessage.objects.order_by("pk")] == [b"null", b"2"]


def test_what_is_late_is_made_up_to_its_number(channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop, schedule="@every 1s", repeats=3))
    begin = RecurringSchedule.objects.get().start_at

    drain(begin + timedelta(seconds=5))

    row = RecurringSchedule.objects.get()
    assert (row.ticks, row.next_at) == (3, None)


def test_a_due_time_is_the_first_run_of_a_cron_schedule(channel: Channel, shop: Producer) -> None:
    make(recurring(channel, shop, schedule="@daily", due_time="10s", ttl="1h"))
    first = RecurringSchedule.objects.get().next_at
    assert first is not None

    drain(first)

    row = RecurringSchedule.objects.get()
    assert (row.ticks, row.next_at) == (1, None)
    assert ScheduledMessage.objects.get().scheduled_for == first


def test_a_name_is_found_by_an_index(channel: Channel, shot: Shots) -> None:
    at_once(store_shots, [shot(f"job{number}") for number in range(500)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduled_message")
        cursor.execute(
            "EXPLAIN SELECT * FROM scheduled_message WHERE channel_id = %s AND job_name = 'job7' AND status = 100",
            [channel.pk],
        )
        assert "scheduled_job_name_is_unique" in str(cursor.fetchall())
