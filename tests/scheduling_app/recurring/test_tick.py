"""The step: ticks that are due become messages for later, each once, and the schedule moves on."""

import threading
from datetime import datetime
from typing import Any

import pytest
from django.db import connection, transaction

from broker_project.lib.bound import fetch
from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import Channel, DeliveryJob, Message, MessageKey, Producer
from scheduling_app import dispatch, schedules
from scheduling_app.dispatch import Lane
from scheduling_app.errors import ScheduleProducerGone
from scheduling_app.models import RecurringSchedule, ScheduledMessage
from scheduling_app.recurring import tick
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.scheduling_app.later import make_scheduled
from tests.scheduling_app.recurring.schedules import NOW, at, make_schedule

pytestmark = pytest.mark.django_db

DAY = 86_400


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


def drain(now: datetime) -> int:
    """Steps until nothing is due; how many messages they made."""
    made = 0
    while not (done := tick.tick_batch(now=now)).is_empty:
        made += done.messages
    return made


def times() -> list[float]:
    """When the messages are due, in seconds from NOW."""
    found = ScheduledMessage.objects.order_by("pk").values_list("scheduled_for", flat=True)
    return [(due - NOW).total_seconds() for due in found]


def counted(schedule: RecurringSchedule) -> tuple[int, int, datetime | None]:
    schedule.refresh_from_db()
    return schedule.ticks, schedule.skipped, schedule.next_at


def set_jobs(status: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE delivery_job SET status = %s, lease_until = now() + interval '1 hour'", [status])


def test_a_tick_is_a_message_for_later_with_everything_of_its_schedule(channel: Channel, producer: Producer) -> None:
    payload = b'\xff{"at": "{{scheduled_for}}", "who": "{{schedule}}@{{channel}}/{{tick}}", "kept": "{{ tick }}{{x}}"}'
    schedule = make_schedule(channel, producer, payload=payload, priority=3, headers={"X-A": "1"})

    done = tick.tick_batch(now=at(60))

    assert (done.messages, set(done.channel_ids)) == (1, {channel.pk})
    row = ScheduledMessage.objects.get()
    stamp, moment = f"{at(60):%Y%m%dT%H%M%SZ}", f"{at(60):%Y-%m-%dT%H:%M:%SZ}"
    filled = f'{{"at": "{moment}", "who": "report@orders/{stamp}", "kept": "{{{{ tick }}}}{{{{x}}}}"}}'
    assert bytes(row.payload) == b"\xff" + filled.encode()
    assert (row.message_id, row.priority, row.headers) == (f"report-{stamp}", 3, {"X-A": "1"})
    assert (row.content_type, row.producer_id, row.partition) == ("text/plain", producer.pk, 0)
    assert row.scheduled_for == row.due_at == at(60)
    assert MessageKey.objects.values_list("row_id", "scheduled").get(message_id=row.message_id) == (row.pk, True)
    assert counted(schedule) == (1, 0, at(120))
    assert schedule.last_tick_at == at(60)


def test_the_dispatch_sends_it(channel: Channel, producer: Producer) -> None:
    make_consumer(channel)
    make_schedule(channel, producer)
    tick.tick_batch(now=at(60))

    assert dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(60)).messages == 1
    assert Message.objects.get().message_id == f"report-{at(60):%Y%m%dT%H%M%SZ}"
    assert DeliveryJob.objects.count() == 1


def test_nothing_is_early_and_nothing_twice(channel: Channel, producer: Producer) -> None:
    make_schedule(channel, producer)

    assert tick.tick_batch(now=at(59.999999)).is_empty
    assert [drain(at(60)), drain(at(60)), drain(at(119.9)), drain(at(120))] == [1, 0, 0, 1]
    assert times() == [60, 120]


def test_a_tick_that_exists_is_not_made_again(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    drain(at(60))
    RecurringSchedule.objects.update(next_at=at(60))

    assert drain(at(60)) == 0
    assert times() == [60]
    assert counted(schedule) == (1, 1, at(120))


def test_an_id_that_another_message_has_holds_up_nobody(channel: Channel, producer: Producer) -> None:
    first, second = make_schedule(channel, producer, "a"), make_schedule(channel, producer, "b")
    make_scheduled(channel, producer, f"a-{at(60):%Y%m%dT%H%M%SZ}")

    assert drain(at(60)) == 1
    assert counted(first) == (0, 1, at(120))
    assert counted(second) == (1, 0, at(120))


@pytest.mark.parametrize(
    ("missed", "made", "skipped"), [("skip", [], 3), ("one", [3 * DAY], 2), ("all", [DAY, 2 * DAY, 3 * DAY], 0)]
)
def test_after_three_days_without_a_broker(
    channel: Channel, producer: Producer, missed: str, made: list[float], skipped: int
) -> None:
    schedule = make_schedule(channel, producer, interval_seconds=DAY, missed=missed)

    drain(at(3 * DAY + 3600))

    assert times() == made
    assert counted(schedule) == (len(made), skipped, at(4 * DAY))


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_a_tick_that_is_only_late_was_not_missed(channel: Channel, producer: Producer, missed: str) -> None:
    schedule = make_schedule(channel, producer, missed=missed)

    assert drain(at(69)) == 1
    assert counted(schedule) == (1, 0, at(120))


@pytest.mark.parametrize("missed", ["skip", "one"])
def test_a_broker_that_is_a_few_seconds_late_loses_no_tick(channel: Channel, producer: Producer, missed: str) -> None:
    schedule = make_schedule(channel, producer, interval_seconds=1, missed=missed)

    assert [drain(at(7)), drain(at(12))] == [7, 5]
    assert times() == list(range(1, 13))
    assert counted(schedule) == (12, 0, at(13))


@pytest.mark.parametrize("missed", ["skip", "one"])
def test_of_many_ticks_only_those_before_the_grace_were_missed(
    channel: Channel, producer: Producer, missed: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of what was missed is among those made. They come in batches, too."""
    settings.SCHEDULER_INTERVAL_MS = 5_000
    monkeypatch.setattr(tick, "MOST_TICKS", 4)
    schedule = make_schedule(channel, producer, interval_seconds=1, missed=missed)

    assert tick.tick_batch(now=at(100)).messages == 4
    assert counted(schedule) == (4, 89, at(94))
    assert drain(at(100)) == 7
    assert times() == list(range(90, 101))
    assert counted(schedule) == (11, 89, at(101))


def test_with_overlap_skip_of_several_late_ticks_the_last_is_made(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, interval_seconds=1, overlap="skip")

    assert drain(at(5)) == 1
    assert times() == [5]
    assert counted(schedule) == (1, 4, at(6))


def test_what_came_in_a_pause_was_missed_however_short_it_was(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, interval_seconds=1, missed="one")
    schedules.pause(schedule, by="ada")

    schedules.resume(schedule, by="ada", now=at(5))

    assert drain(at(5)) == 1
    assert times() == [5]
    assert counted(schedule) == (1, 4, at(6))


def test_many_missed_ticks_are_made_batch_by_batch(
    channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tick, "MOST_TICKS", 100)
    schedule = make_schedule(channel, producer, interval_seconds=1, missed="all")

    assert tick.tick_batch(now=at(250)).messages == 100
    assert counted(schedule) == (100, 0, at(101))
    assert drain(at(250)) == 150
    assert times() == list(range(1, 251))


def test_a_large_payload_is_not_multiplied_without_bound(
    channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tick, "MOST_BYTES", 1_000)
    make_schedule(channel, producer, missed="all", payload=b"x" * 400)

    assert tick.tick_batch(now=at(600)).messages == 2
    assert drain(at(600)) == 8


def test_what_a_payload_grows_to_counts(channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these is 12 bytes as a template, and 200 as a message."""
    monkeypatch.setattr(tick, "MOST_BYTES", 400)
    for letter in "abc":
        make_schedule(channel, producer, letter * 200, missed="all", payload=b"{{schedule}}")

    done = tick.tick_batch(now=at(60))
    assert (done.schedules, done.messages) == (2, 2)
    assert drain(at(60)) == 1
    assert drain(at(240)) == 9
    assert {len(row.payload) for row in ScheduledMessage.objects.all()} == {200}


def test_a_schedule_that_catches_up_holds_up_nobody(
    channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tick, "MOST_TICKS", 10)
    make_schedule(channel, producer, "old", interval_seconds=1, missed="all")
    make_schedule(channel, producer, "new", interval_seconds=100)

    tick.tick_batch(now=at(100))

    assert ScheduledMessage.objects.filter(message_id__startswith="new-").count() == 1


def test_a_year_of_minutes_costs_no_more_than_a_day(channel: Channel, producer: Producer) -> None:
    """What was skipped is counted up to a bound, and the last tick is found all the same."""
    schedule = make_schedule(channel, producer, cron="* * * * *", missed="one")

    drain(at(365 * DAY + 1))

    assert times() == [365 * DAY]
    assert counted(schedule) == (1, 9_999, at(365 * DAY + 60))


def test_it_starts_and_ends_when_it_should(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, start_at=at(90), end_at=at(210), missed="all")
    assert schedule.next_at == at(90)

    assert drain(at(89)) == 0
    assert drain(at(1_000)) == 3
    assert times() == [90, 150, 210]
    assert counted(schedule) == (3, 0, None)
    assert schedule.state == "ended"


@pytest.mark.parametrize(
    ("missed", "made", "skipped"), [("skip", [240], 3), ("one", [180, 240], 2), ("all", [60, 120, 180, 240], 0)]
)
def test_a_pause_over_ticks(channel: Channel, producer: Producer, missed: str, made: list[float], skipped: int) -> None:
    """Resumed a second after a tick: with skip, not even that one is made."""
    schedule = make_schedule(channel, producer, missed=missed)
    schedules.pause(schedule, by="ada", note="moving house")
    assert drain(at(150)) == 0

    schedules.resume(schedule, by="ada", now=at(181))
    drain(at(181))
    drain(at(240))

    assert times() == made
    assert counted(schedule) == (len(made), skipped, at(300))
    assert (schedule.paused_at, schedule.paused_by, schedule.paused_note) == (None, "", "")


@pytest.mark.parametrize("stage", ["waits", "queued", "in flight"])
def test_with_overlap_skip_no_tick_is_made_while_the_one_before_is_under_way(
    channel: Channel, producer: Producer, stage: str
) -> None:
    make_consumer(channel)
    schedule = make_schedule(channel, producer, overlap="skip")
    assert drain(at(60)) == 1
    if stage != "waits":
        dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(60))
    if stage == "in flight":
        set_jobs(1002)

    assert drain(at(120)) == 0
    assert counted(schedule) == (1, 1, at(180))

    dispatch.dispatch_batch(Lane(channel.pk, 0), now=at(120))
    set_jobs(1003)
    assert drain(at(180)) == 1
    assert times() == [60, 180]


def test_overlap_allow_does_not_wait(channel: Channel, producer: Producer) -> None:
    make_schedule(channel, producer)
    assert [drain(at(60)), drain(at(120))] == [1, 1]


def test_with_overlap_skip_of_all_that_was_missed_the_first_is_made(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, overlap="skip", missed="all")

    assert drain(at(300)) == 1
    assert times() == [60]
    assert counted(schedule) == (1, 4, at(360))


def test_a_cancelled_tick_is_not_under_way(channel: Channel, producer: Producer) -> None:
    make_schedule(channel, producer, overlap="skip")
    drain(at(60))
    ScheduledMessage.objects.cancel()

    assert drain(at(120)) == 1


def test_a_deleted_channel_stops_its_schedules(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    other = make_schedule(make_channel("other"), producer)
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))

    assert drain(at(60)) == 1
    assert counted(schedule) == (0, 0, None)
    assert schedule.state == "deleted"
    assert counted(other) == (1, 0, at(120))


def test_a_deleted_producer_pauses_its_schedules(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    services.delete(producer, condition=Condition(etags=frozenset({producer.etag})))

    assert drain(at(60)) == 0
    schedule.refresh_from_db()
    assert (schedule.state, schedule.paused_by, schedule.paused_note) == (
        "paused",
        "the broker",
        "Its producer is gone.",
    )


def test_one_that_cannot_be_read_is_paused_and_holds_up_nobody(channel: Channel, producer: Producer) -> None:
    make_schedule(channel, producer, "lost", cron="* * * * *")
    fine = make_schedule(channel, producer, "fine")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE recurring_schedule SET timezone = 'Mars/Olympus' WHERE public_id = 'lost'")

    assert drain(at(60)) == 1
    assert counted(fine) == (1, 0, at(120))
    lost = RecurringSchedule.objects.get(public_id="lost")
    assert lost.paused_at
    assert "Mars/Olympus" in lost.paused_note


def test_a_deleted_schedule_ticks_no_more(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    schedules.delete(schedule, condition=Condition(etags=frozenset({schedule.etag})))

    assert drain(at(60)) == 0
    assert counted(schedule)[2] is None


def test_a_channel_that_spreads_its_messages_spreads_ticks(producer: Producer) -> None:
    channel = make_channel("wide", spread_seconds=3600)
    for number in range(5):
        make_schedule(channel, producer, f"s{number}")
    drain(at(60))

    rows = ScheduledMessage.objects.all()
    assert {row.scheduled_for for row in rows} == {at(60)}
    assert all(at(60) <= row.due_at <= at(60 + 3600) for row in rows)
    assert len({row.due_at for row in rows}) == 5


def test_a_batch_costs_as_many_statements_as_one(
    channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        make_schedule(channel, producer, f"s{number}", overlap="skip" if number % 2 else "allow", missed="all")
    asked: list[str] = []

    def counting(statement: str, parameters: Any) -> list[tuple[Any, ...]]:
        asked.append(statement)
        return fetch(statement, parameters)

    monkeypatch.setattr(tick, "fetch", counting)

    assert tick.tick_batch(now=at(600)).messages == 15 * 10 + 15
    assert len(asked) == 3


def test_a_batch_ends_at_its_rows(channel: Channel, producer: Producer, settings: object) -> None:
    settings.SCHEDULER_BATCH_SIZE = 2  # type: ignore[attr-defined]
    for number in range(3):
        make_schedule(channel, producer, f"s{number}")

    assert [tick.tick_batch(now=at(60)).schedules for _ in range(3)] == [2, 1, 0]


def test_it_is_known_when_the_next_one_ticks(channel: Channel, producer: Producer) -> None:
    assert tick.next_tick_in() is None
    paused = make_schedule(channel, producer, "paused", interval_seconds=1)
    schedules.pause(paused, by="ada")
    make_schedule(channel, producer, interval_seconds=90)

    assert tick.next_tick_in(now=NOW) == 90
    assert tick.next_tick_in(now=at(100)) == -10


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_each_tick_once() -> None:
    channel, producer = make_channel(), make_producer()
    for number in range(20):
        make_schedule(channel, producer, f"s{number}", interval_seconds=1, missed="all")
    made: list[int] = []

    def work() -> None:
        made.append(drain(at(50)))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    # One may have found all the others' rows locked; what is left is nobody's loss.
    assert sum(made) + drain(at(50)) == 20 * 50
    assert ScheduledMessage.objects.count() == 20 * 50
    assert set(RecurringSchedule.objects.values_list("ticks", "skipped", "next_at")) == {(50, 0, at(51))}


@pytest.mark.django_db(transaction=True)
def test_a_schedule_that_somebody_holds_is_passed_over() -> None:
    channel, producer = make_channel(), make_producer()
    held = make_schedule(channel, producer, "held")
    make_schedule(channel, producer, "free")
    made: list[int] = []

    def work() -> None:
        made.append(drain(at(60)))
        connection.close()

    with transaction.atomic():
        RecurringSchedule.objects.select_for_update().get(pk=held.pk)
        other = threading.Thread(target=work)
        other.start()
        other.join(timeout=30)

    assert made == [1]
    assert drain(at(60)) == 1


def test_run_once_is_a_message_beside_the_ticks(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)

    made = schedules.run_once(schedule, by="ada", now=at(60))
    drain(at(60))

    stamp = f"report-{at(60):%Y%m%dT%H%M%SZ}"
    assert made == f"{stamp}-by-hand"
    assert set(ScheduledMessage.objects.values_list("message_id", flat=True)) == {stamp, made}
    assert counted(schedule) == (1, 0, at(120))


def test_changing_when_it_ticks_goes_on_from_now_and_makes_nothing_twice(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    drain(at(60))

    change(schedule, {"interval_seconds": 30}, now=at(61))
    assert counted(schedule)[2] == at(90)
    change(schedule, {"payload": b"new"}, now=at(5_000))
    assert counted(schedule)[2] == at(90)
    drain(at(90))

    assert times() == [60, 90]
    assert bytes(ScheduledMessage.objects.get(scheduled_for=at(90)).payload) == b"new"


def test_a_change_of_times_drops_no_tick_that_is_due(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)

    change(schedule, {"interval_seconds": 45}, now=at(62))
    assert counted(schedule)[2] == at(60)
    drain(at(62))
    drain(at(90))

    assert times() == [60, 90]
    assert counted(schedule) == (2, 0, at(135))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"start_at": at(61)}, 121),
        ({"start_at": None}, 122),
        ({"interval_seconds": 600, "start_at": at(60)}, 60),
    ],
)
def test_a_tick_that_is_due_stays_if_the_new_times_hold_it(
    channel: Channel, producer: Producer, values: dict[str, object], expected: float
) -> None:
    schedule = make_schedule(channel, producer)
    change(schedule, values, now=at(62))
    assert counted(schedule)[2] == at(expected)


def test_a_change_of_times_in_a_pause_goes_on_from_now(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    schedules.pause(schedule, by="ada")
    change(schedule, {"interval_seconds": 45}, now=at(62))
    assert counted(schedule)[2] == at(90)


def test_the_same_times_again_move_nothing(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer, cron="* * * * *", timezone="Europe/Berlin", missed="all")
    schedules.pause(schedule, by="ada")

    change(schedule, {"cron": "* * * * *", "timezone": "Europe/Berlin"}, now=at(200))

    assert counted(schedule)[2] == at(60)


@pytest.mark.django_db(transaction=True)
def test_a_change_of_times_waits_for_the_step_that_makes_the_tick() -> None:
    schedule = make_schedule(make_channel(), make_producer())

    def work() -> None:
        change(schedule, {"interval_seconds": 45}, now=at(62))
        connection.close()

    other = threading.Thread(target=work)
    with transaction.atomic():
        tick.tick_batch(now=at(62))
        other.start()
        wait_until(somebody_waits, 30)
    other.join(timeout=30)

    assert counted(schedule) == (1, 0, at(90))


def test_a_schedule_whose_producer_is_gone_is_not_run_by_hand(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)
    services.delete(producer, condition=Condition(etags=frozenset({producer.etag})))

    with pytest.raises(ScheduleProducerGone):
        schedules.run_once(schedules.get(channel, "report"), by="ada")
    assert not ScheduledMessage.objects.exists()
    assert counted(schedule)[0] == 0


def test_pause_and_resume_say_whether_they_did_anything(channel: Channel, producer: Producer) -> None:
    schedule = make_schedule(channel, producer)

    assert [schedules.pause(schedule, by="ada"), schedules.pause(schedule, by="bob")] == [True, False]
    assert schedule.paused_by == "ada"
    assert [schedules.resume(schedule, by="ada"), schedules.resume(schedule, by="bob")] == [True, False]


def change(schedule: RecurringSchedule, values: dict[str, object], now: datetime) -> None:
    schedule.refresh_from_db()
    known = Condition(etags=frozenset({schedule.etag}))
    schedules.put(channel=schedule.channel, public_id=schedule.public_id, values=values, condition=known, now=now)


def test_a_daily_tick_keeps_its_local_hour(channel: Channel, producer: Producer) -> None:
    """Three days over the night on which Berlin's clocks go back."""
    make_schedule(
        channel,
        producer,
        cron="30 2 * * *",
        timezone="Europe/Berlin",
        start_at=datetime.fromisoformat("2030-10-26T00:00+02:00"),
        missed="all",
    )

    drain(datetime.fromisoformat("2030-10-28T12:00+01:00"))

    found = ScheduledMessage.objects.order_by("pk").values_list("due_at", flat=True)
    assert [f"{due:%d %H:%M}" for due in found] == ["26 00:30", "27 00:30", "28 01:30"]
