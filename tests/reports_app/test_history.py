"""A history to try things on: finished, past, the same for the same seed, and counted."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from channels_app import counts
from channels_app.delivery import sweeps
from channels_app.delivery.fanout import has_left_over
from channels_app.models import (
    Channel,
    ChannelState,
    DeliveryAttempt,
    DeliveryJob,
    JobStatus,
    Message,
    MessageKey,
    MessageStatus,
)
from dlq_app.models import DeadLetter, DeadLetterAct
from reports_app.history.load import chunks, hours
from scheduling_app.dispatch import lanes_due
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.messages import make_messages
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db

UNTIL = "2026-06-01"
# What the rows say, but for ids that a sequence gave.
CHECKSUMS = (
    "SELECT count(*), sum(hashtextextended(concat_ws('|', message_id, encode(payload, 'hex'), priority, sequence, "
    "received_at, dispatched_at), 0)) FROM message",
    "SELECT count(*), sum(hashtextextended(concat_ws('|', k.public_id, status, attempt, failures, reason, "
    "j.created_at, j.received_at, started_at, device_id, status_changed_at), 0)) FROM delivery_job j JOIN consumer k "
    "ON k.id = consumer_id",
    "SELECT count(*), sum(hashtextextended(concat_ws('|', attempt, status_code, reason, error, answer, duration_ms, "
    "device_id, finished_at), 0)) FROM delivery_attempt",
    "SELECT count(*), sum(hashtextextended(concat_ws('|', message_id, status, due_at, created_at, dispatched_at, "
    "status_changed_at), 0)) FROM scheduled_message",
    "SELECT count(*), sum(hashtextextended(concat_ws('|', reason, error, entered_at, resolution, resolved_at), 0)) "
    "FROM dead_letter",
    "SELECT count(*), sum(hashtextextended(concat_ws('|', act, reason, by, at), 0)) FROM dead_letter_act",
)
WIPE = """
TRUNCATE message, message_key, scheduled_message, delivery_job, delivery_attempt, counter, counter_delta, dead_letter,
         dead_letter_act;
UPDATE channel_state SET last_sequence = 0
"""


def make_history(*words: str, messages: int = 4000, seed: int = 7) -> None:
    told = [f"--messages={messages}", "--days=9", f"--seed={seed}", f"--until={UNTIL}"]
    call_command("make_history", *told, *words, verbosity=0)


def checksums() -> list[tuple[int, int]]:
    with connection.cursor() as cursor:
        return [cursor.execute(statement).fetchone() for statement in CHECKSUMS]


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_same_seed_makes_the_same_history_and_another_another() -> None:
    make_history()
    first = checksums()
    run(WIPE)
    make_history()
    assert checksums() == first
    run(WIPE)
    make_history(seed=8)
    assert checksums() != first


def test_as_many_messages_as_asked_for_with_about_a_job_and_a_fifth_each() -> None:
    make_history()

    assert Message.objects.count() == 4000
    assert 1.1 < DeliveryJob.objects.count() / 4000 < 1.3
    assert DeliveryAttempt.objects.count() > DeliveryJob.objects.count()
    assert MessageKey.objects.filter(scheduled=False).count() == 4000


def test_everything_is_finished_and_past_and_nothing_is_there_for_the_engine() -> None:
    make_history()

    assert set(Message.objects.values_list("status", flat=True)) == {MessageStatus.DISPATCHED}
    assert set(DeliveryJob.objects.values_list("status", flat=True)) == {JobStatus.DELIVERED, JobStatus.DEAD}
    later = set(ScheduledMessage.objects.values_list("status", flat=True))
    assert later == {ScheduledStatus.DISPATCHED, ScheduledStatus.CANCELLED}
    end = datetime(2026, 6, 1, tzinfo=UTC)
    assert not DeliveryJob.objects.filter(status_changed_at__gte=end).exists()
    assert not DeadLetterAct.objects.filter(at__gte=end).exists()
    assert not has_left_over()
    assert sweeps.consumers_with_ready_jobs() == []
    assert lanes_due(3600) == []


def test_its_counters_sequences_and_keys_are_as_the_engine_leaves_them() -> None:
    make_history()

    assert not counts.check().total
    for state in ChannelState.objects.filter(channel__public_id__startswith="history-"):
        sequences = Message.objects.filter(channel_id=state.pk).order_by("id").values_list("sequence", flat=True)
        assert list(sequences) == list(range(1, state.last_sequence + 1))
    assert set(MessageKey.objects.filter(scheduled=False).values_list("row_id", flat=True)) == set(
        Message.objects.values_list("pk", flat=True)
    )
    [after] = make_messages(Channel.objects.get(public_id="history-orders"), "after")
    assert after.pk > max(
        MessageKey.objects.filter(scheduled=False).exclude(message_id="after").values_list("row_id", flat=True)
    )


def test_letters_say_what_became_of_dead_jobs() -> None:
    make_history()

    dead = set(DeliveryJob.objects.filter(status=JobStatus.DEAD).values_list("pk", flat=True))
    unsolved = DeadLetter.objects.exclude(resolution="requeued") | DeadLetter.objects.open()
    assert dead == set(unsolved.values_list("job_id", flat=True))
    requeued = DeadLetter.objects.filter(resolution="requeued")
    assert set(requeued.values_list("job__status", flat=True)) == {JobStatus.DELIVERED}
    assert DeadLetter.objects.filter(resolution="discarded").exists()
    acts = DeadLetterAct.objects.values_list("act", flat=True)
    assert sorted(acts).count("entered") == DeadLetter.objects.count()


def test_a_job_s_times_follow_each_other() -> None:
    make_history()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM delivery_job j JOIN message m ON m.id = j.message_id "
            "WHERE j.created_at < m.received_at OR j.status_changed_at < j.created_at OR j.received_at < j.created_at"
        )
        assert cursor.fetchone()[0] == 0
        cursor.execute(
            "SELECT count(*) FROM delivery_job j WHERE j.attempt <> (SELECT count(*) FROM delivery_attempt a "
            "WHERE a.job_id = j.id) OR j.status_changed_at <> (SELECT max(finished_at) FROM delivery_attempt a "
            "WHERE a.job_id = j.id)"
        )
        assert cursor.fetchone()[0] == 0


def test_it_is_refused_where_there_are_messages_unless_it_is_to_be_added() -> None:
    make_messages(make_channel(), "mine")
    with pytest.raises(CommandError, match="--add"):
        make_history()
    assert Message.objects.count() == 1

    make_history("--add", messages=100)
    make_history("--add", messages=100, seed=8)
    with pytest.raises(CommandError, match="seed"):
        make_history("--add", messages=100)
    assert Message.objects.count() == 201
    assert not counts.check().total


@pytest.mark.parametrize(
    "words", [["--messages=0"], ["--days=0"], ["--days=1000000"], ["--until=2999-01-01"], ["--seed=-1"]]
)
def test_what_cannot_be_made_is_refused(words: list[str]) -> None:
    with pytest.raises(CommandError, match="at least one message"):
        make_history(*words)
    assert not Message.objects.exists()


def test_there_is_more_to_do_by_day_than_by_night() -> None:
    until = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    made = hours(messages=100_000, days=28, seed=1, until=until)

    by_hour = {hour: sum(one.count for one in made if one.start.hour == hour) for hour in (3, 15)}
    assert by_hour[15] > 5 * by_hour[3]
    assert sum(one.count for one in made) == 100_000
    assert made[0].start >= until - timedelta(days=28)
    assert max(one.count for one in made) > 3 * sorted(one.count for one in made)[len(made) // 2]


def test_chunks_lose_no_hour() -> None:
    made = hours(messages=1000, days=3, seed=1, until=datetime(2026, 6, 1, tzinfo=UTC))

    assert [hour for chunk in chunks(made, 100) for hour in chunk] == made
