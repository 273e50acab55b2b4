"""Counters that check themselves, also while others write."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from channels_app import counts
from channels_app.delivery.fanout import fan_out
from channels_app.delivery.sweeps import fold_counters
from channels_app.models import Channel, CounterDelta, CounterKind, DeliveryJob, Message, MessageStatus
from channels_app.selectors import job_counts, message_counts
from tests.acceptance.servers import wait_until
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def channel() -> Channel:
    """Two messages with a job each and one that waits, partly folded."""
    made = make_channel()
    make_consumer(made)
    make_messages(made, "a", "b")
    dispatch(made)
    fold_counters()
    make_messages(made, "c")
    return made


def test_counters_that_agree_are_all_right(channel: Channel, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_counts")

    assert capsys.readouterr().out == "all right\n"


def test_an_empty_database_is_all_right(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_counts", "--repair")

    assert capsys.readouterr().out == "all right\n"


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE counter SET count = count + 7 WHERE status = 101", ["message", "orders", "DISPATCHED", "9", "2"]),
        ("DELETE FROM counter WHERE kind = 2", ["job", "orders", "billing", "QUEUED", "0", "2"]),
        ("DELETE FROM counter_delta", ["message", "orders", "ACKNOWLEDGED", "0", "1"]),
        ("TRUNCATE delivery_job", ["job", "orders", "billing", "QUEUED", "2", "0"]),
    ],
)
def test_a_difference_is_shown_and_repaired(
    channel: Channel, damage: str, found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    execute("SET CONSTRAINTS ALL IMMEDIATE", damage)

    with pytest.raises(CommandError, match="1 counts differ") as refusal:
        call_command("check_counts")
    shown = capsys.readouterr().out.splitlines()
    call_command("check_counts", "--repair")
    call_command("check_counts")

    assert refusal.value.returncode == 1
    assert shown[0].split() == ["of", "channel", "consumer", "state", "reason", "counter", "rows"]
    assert [line.split() for line in shown[1:]] == [found]
    assert capsys.readouterr().out.splitlines()[-2:] == ["1 counts corrected", "all right"]


def test_what_is_repaired_stays_right_when_it_is_folded(channel: Channel) -> None:
    execute("UPDATE counter SET count = count - 1")

    counts.repair()
    fold_counters()

    assert counts.check().total == 0
    assert list(message_counts(channel).values()) == [1, 2]
    assert job_counts() == {"orders": {"billing": {"QUEUED": 2}}}


def test_of_very_many_differences_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    execute(
        "INSERT INTO counter (kind, channel_id, consumer_id, status, reason, count)"
        " SELECT 1, n, 0, 100, '', 5 FROM generate_series(1, 1500) n"
    )

    call_command("check_counts", "--repair")

    assert capsys.readouterr().out.splitlines()[-2:] == ["and 500 more", "1500 counts corrected"]
    assert counts.check().total == 0


@contextmanager
def writers(channel: Channel) -> Iterator[list[int]]:
    """Others store, fan out, deliver and fold until the block ends; yields how often each has."""
    stopped, rounds, mishaps = threading.Event(), [0, 0, 0], []

    def write(number: int) -> None:
        try:
            while not stopped.is_set():
                make_messages(channel, *(f"{number}-{rounds[number]}-{n}" for n in range(20)))
                fan_out(channel.pk)
                DeliveryJob.objects.filter(status=1001, pk__endswith=str(number)).update(status=1003)
                rounds[number] += 1
        except Exception as error:  # noqa: BLE001  # shown by the test that started it
            mishaps.append(error)
        finally:
            connection.close()

    def fold() -> None:
        while not stopped.is_set():
            fold_counters()
            rounds[2] += 1
        connection.close()

    threads = [threading.Thread(target=write, args=[0]), threading.Thread(target=write, args=[1])]
    threads.append(threading.Thread(target=fold))
    for thread in threads:
        thread.start()
    try:
        yield rounds
    finally:
        stopped.set()
        for thread in threads:
            thread.join(timeout=30)
    assert not mishaps


def wait_for_rounds(rounds: list[int]) -> None:
    """All writers have written, and the deltas been folded, since now."""
    before = list(rounds)
    wait_until(lambda: all(now > then for now, then in zip(rounds, before, strict=True)), 30)


@pytest.mark.django_db(transaction=True)
def test_while_others_write_a_check_finds_nothing_and_a_repair_corrects_just_the_damage() -> None:
    channel = make_channel()
    consumer = make_consumer(channel)
    make_producer()
    with writers(channel) as rounds:
        for _ in range(5):
            wait_for_rounds(rounds)
            assert counts.check() == counts.Checked([], 0)
        wrong = {"channel_id": channel.pk, "reason": ""}
        CounterDelta.objects.create(kind=CounterKind.MESSAGE, consumer_id=0, status=101, count=1000, **wrong)
        CounterDelta.objects.create(kind=CounterKind.JOB, consumer_id=consumer.pk, status=1003, count=-50, **wrong)
        wait_for_rounds(rounds)
        found = counts.repair()
        wait_for_rounds(rounds)
        assert counts.check() == counts.Checked([], 0)

    assert sorted(difference.kept - difference.counted for difference in found.shown) == [-50, 1000]
    assert counts.check().total == 0
    assert message_counts(channel)[MessageStatus.DISPATCHED] == Message.objects.filter(status=101).count()


@pytest.mark.django_db(transaction=True)
def test_two_repairs_at_once_correct_once() -> None:
    make_messages(make_channel(), "a")
    execute("UPDATE counter_delta SET count = 5")
    found: list[int] = []

    def repair() -> None:
        found.append(counts.repair().total)
        connection.close()

    threads = [threading.Thread(target=repair) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(found) == [0, 0, 0, 1]
    assert counts.check().total == 0
