"""What is old, finished and proven in the lake goes, whole; everything else stays, whole."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app import counts
from channels_app.models import (
    Channel,
    ChannelState,
    Consumer,
    DeliveryJob,
    JobStatus,
    Message,
    MessageKey,
    Operation,
)
from channels_app.models.operation import OperationStatus
from dlq_app import policies
from dlq_app.discard import discard
from dlq_app.edit import Content
from dlq_app.models import DeadLetter
from dlq_app.requeue import requeue
from dlq_app.services import edit_and_send
from reports_app.models import LakeKind, LakeMark, LakeSlice
from reports_app.prune import cancelled, messages, records, sweep
from reports_app.prune.messages import Wanted
from reports_app.prune.tasks import prune
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.messages import make_messages, rows_touched
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.reports_app.lake import age, export, make_old, make_old_dead, rows_left, run

pytestmark = pytest.mark.django_db


def left() -> set[str]:
    return set(Message.objects.values_list("message_id", flat=True))


def make_scheduled(channel: Channel, name: str, status: ScheduledStatus, *, days: float = 40) -> ScheduledMessage:
    then = timezone.now() - timedelta(days=days)
    producer = make_messages(channel, f"{name}-other")[0].producer
    row = ScheduledMessage.objects.create(
        channel=channel, producer=producer, message_id=name, payload=b"x", content_type="text/plain",
        status=status, scheduled_for=then, due_at=then, created_at=then, status_changed_at=then,
    )  # fmt: skip
    if status == ScheduledStatus.CANCELLED:
        MessageKey.objects.create(channel_id=channel.pk, message_id=name, row_id=row.pk, scheduled=True)
    return row


def test_an_old_delivered_message_goes_with_its_jobs_and_attempts(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()

    assert sweep.sweep().messages == 1

    assert not any(rows_left().values())
    assert not counts.check().total


def test_its_key_stays_and_says_when_it_went(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    make_old(channel, "other")
    export()
    LakeSlice.objects.filter(kind=LakeKind.MESSAGE).update(last_id=Message.objects.get(message_id="old").pk)
    sweep.sweep()

    assert MessageKey.objects.get(message_id="old").pruned_at is not None
    assert MessageKey.objects.get(message_id="other").pruned_at is None


def test_the_slices_that_it_was_in_are_told(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    export()
    LakeSlice.objects.create(kind=1, first_id=10**9, last_id=10**9, row_count=1, checksum=1, path="elsewhere")
    sweep.sweep()

    told = dict(LakeSlice.objects.values_list("path", "pruned_at"))
    assert told.pop("elsewhere") is None
    assert len(told) == 3
    assert all(told.values())


def test_a_channel_that_says_nothing_keeps_its_messages(channel: Channel, consumer: Consumer) -> None:
    silent = make_channel("silent")
    make_consumer(silent)
    make_old(silent, "kept")
    export()

    assert sweep.sweep().total == 0
    assert left() == {"kept"}


def test_what_is_younger_than_its_channel_s_days_stays(channel: Channel, consumer: Consumer) -> None:
    [young] = make_old(channel, "young")
    age(young.pk, by=timedelta(days=29))
    export()

    assert sweep.sweep().total == 0


def test_an_old_message_that_was_delivered_again_lately_stays(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "again")
    DeliveryJob.objects.update(status_changed_at=timezone.now())
    export()

    assert sweep.sweep().total == 0


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.INFLIGHT])
def test_a_message_with_an_open_job_stays_whole(channel: Channel, consumer: Consumer, status: JobStatus) -> None:
    make_consumer(channel, "second")
    make_old(channel, "open")
    DeliveryJob.objects.filter(consumer=consumer).update(status=status, lease_until=timezone.now())
    export()

    assert sweep.sweep().total == 0
    assert DeliveryJob.objects.count() == 2


def test_a_message_that_waits_for_fan_out_stays(channel: Channel, consumer: Consumer) -> None:
    [waiting] = make_messages(channel, "waiting")
    age(waiting.pk)
    export()

    assert sweep.sweep().total == 0


def test_a_message_for_nobody_goes(channel: Channel) -> None:
    make_old(channel, "nobody's")
    export()

    assert sweep.sweep().messages == 1


@pytest.mark.parametrize("kind", [LakeKind.MESSAGE, LakeKind.JOB, LakeKind.ATTEMPT, LakeKind.LETTER_ACT])
def test_what_is_not_in_the_lake_stays_whole(channel: Channel, consumer: Consumer, kind: LakeKind) -> None:
    make_old_dead(consumer, "dead")
    discard(DeadLetter.objects.all(), by="anna")
    before = rows_left()
    export(*(one for one in LakeKind if one != kind))

    assert sweep.sweep().total == 0
    assert rows_left() == before

    export()
    assert sweep.sweep().messages == 1
    assert not any(rows_left().values())


@pytest.mark.parametrize("kind", [LakeKind.MESSAGE, LakeKind.JOB])
def test_a_slice_with_a_mark_that_waits_stays_whole(channel: Channel, consumer: Consumer, kind: LakeKind) -> None:
    make_old(channel, "marked")
    export()
    LakeSlice.objects.filter(kind=kind).update(last_id=10**6)
    # Of another row of the same slice.
    LakeMark.objects.create(kind=kind, block=3)

    assert sweep.sweep().total == 0

    LakeMark.objects.all().delete()
    assert sweep.sweep().messages == 1


def test_a_change_that_the_lake_has_not_seen_keeps_its_row(channel: Channel, consumer: Consumer) -> None:
    [message] = make_old(channel, "changed")
    export()
    Message.objects.filter(pk=message.pk).expunge(by="anna")

    assert sweep.sweep().total == 0

    export()
    assert sweep.sweep().messages == 1


def test_an_open_letter_keeps_its_message(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    export()

    assert sweep.sweep().total == 0


def test_an_open_letter_that_is_older_than_letters_are_kept_does_not(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    policies.put(channel, values={"retention_days": 39}, by="anna")
    export()

    assert sweep.sweep().messages == 1
    assert not any(rows_left().values())
    assert not counts.check().total


def test_a_dead_job_whose_letter_was_not_kept_goes(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "dead")
    DeadLetter.objects.all().delete()
    export()

    assert sweep.sweep().messages == 1


def test_resolved_letters_go_with_their_history_and_counters_stay_right(channel: Channel, consumer: Consumer) -> None:
    make_old_dead(consumer, "discarded")
    discard(DeadLetter.objects.all(), by="anna")
    make_old_dead(consumer, "requeued")
    requeue(DeadLetter.objects.all(), by="anna", most_times=10)
    DeliveryJob.objects.filter(status=JobStatus.QUEUED).update(status=JobStatus.DELIVERED)
    age(*Message.objects.values_list("pk", flat=True))
    export()

    assert sweep.sweep().messages == 2
    assert not any(rows_left().values())
    assert not counts.check().total


def test_a_message_takes_the_message_for_later_that_it_was_along(channel: Channel, consumer: Consumer) -> None:
    make_scheduled(channel, "later", ScheduledStatus.DISPATCHED)
    make_old(channel, "later")
    export(*(kind for kind in LakeKind if kind != LakeKind.SCHEDULED))
    assert sweep.sweep().total == 0

    export()
    sweep.sweep()
    assert "later" not in left()
    assert not ScheduledMessage.objects.exists()
    assert not counts.check().total


def test_a_cancelled_one_goes_and_one_that_waits_or_was_set_aside_stays(channel: Channel, api: Client) -> None:
    make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    make_scheduled(channel, "young", ScheduledStatus.CANCELLED, days=3)
    make_scheduled(channel, "waiting", ScheduledStatus.SCHEDULED)
    make_scheduled(channel, "aside", ScheduledStatus.SET_ASIDE)
    assert sweep.sweep().total == 0
    export()
    sweep.sweep()

    assert set(ScheduledMessage.objects.values_list("message_id", flat=True)) == {"young", "waiting", "aside"}
    assert not counts.check().total
    problem(api.get("/channel/orders/scheduled-message/cancelled"), 410, "message_pruned")
    problem(api.get("/channel/orders/message/cancelled"), 404, "unknown_message")


def test_a_pruned_message_is_410_with_when_and_where_it_went(channel: Channel, consumer: Consumer, api: Client) -> None:
    make_old(channel, "old")
    export()
    sweep.sweep()

    for path in ("message/old", "task/old", "scheduled-message/old"):
        told = problem(api.get(f"/channel/orders/{path}"), 410, "message_pruned")
        assert timezone.now().strftime("%Y-%m-%dT") in told["detail"]
        assert "lake" in told["detail"]
    problem(api.delete("/channel/orders/message/old"), 410, "message_pruned")
    problem(api.get("/channel/orders/message/never"), 404, "unknown_message")


def test_its_id_stays_taken_and_is_free_after_its_days(channel: Channel, consumer: Consumer, settings: Any) -> None:
    make_old(channel, "old")
    export()
    sweep.sweep()

    run("UPDATE message_key SET pruned_at = now() - interval '399 days'")
    sweep.sweep()
    assert MessageKey.objects.count() == 1
    settings.ID_RETENTION_DAYS = 0
    run("UPDATE message_key SET pruned_at = now() - interval '401 days'")
    sweep.sweep()
    assert MessageKey.objects.count() == 1
    settings.ID_RETENTION_DAYS = 400
    make_messages(channel, "live")
    sweep.sweep()
    assert [key.message_id for key in MessageKey.objects.all()] == ["live"]


def test_a_dry_run_says_how_many_and_changes_nothing(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "one", "two")
    make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    other = make_channel("other", retention_days=1)
    make_old(other, "three")
    export()
    before = rows_left()

    said, of_one = StringIO(), StringIO()
    call_command("prune", "--dry-run", stdout=said)
    call_command("prune", "--dry-run", "--channel", "other", stdout=of_one)

    assert said.getvalue().splitlines() == [
        "orders: 2 message rows, 2 job rows, 1 scheduled rows, 2 attempt rows, 0 letter act rows",
        "other: 1 message rows, 0 job rows, 0 scheduled rows, 0 attempt rows, 0 letter act rows",
    ]
    assert of_one.getvalue().splitlines() == said.getvalue().splitlines()[1:]
    assert rows_left() == before
    assert not LakeSlice.objects.filter(pruned_at__isnull=False).exists()
    assert not MessageKey.objects.filter(pruned_at__isnull=False).exists()


def test_the_command_prunes_one_channel_or_all(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "one")
    make_old(make_channel("other", retention_days=1), "two")
    export()

    call_command("prune", "--channel", "other", stdout=StringIO())
    assert left() == {"one"}
    call_command("prune", stdout=StringIO())
    assert left() == set()
    with pytest.raises(CommandError, match="no such channel"):
        call_command("prune", "--channel", "nobody")


def test_it_goes_on_batch_by_batch_past_what_stays(
    channel: Channel, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    make_old(channel, *(f"m{n}" for n in range(7)))
    DeliveryJob.objects.filter(message__message_id__in=["m0", "m1", "m4"]).update(status=JobStatus.QUEUED)
    export()

    assert sweep.sweep().messages == 4
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
    assert sweep.sweep(seconds=0).total == 0
    assert left() == {"m0", "m1", "m2", "m3"}
    assert sweep.sweep().messages == 2
    assert ChannelState.objects.get(pk=channel.pk).pruned_message == 0


def test_a_letter_opens_after_the_message_that_was_sent_instead_was_pruned(
    channel: Channel, consumer: Consumer
) -> None:
    letter = make_old_dead(consumer, "dead")
    edit_and_send(job=letter.job, content=Content(payload=b"better"), by="anna")
    Message.objects.exclude(message_id="dead").delete()

    client = log_in("view_deadletter")
    assert client.get(reverse("admin:dlq_app_deadletter_change", args=[letter.job_id])).status_code == 200


def test_deleted_channels_are_pruned_too(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    Channel.objects.update(deleted_at=timezone.now())
    export()

    prune()
    assert left() == set()


def test_operations_and_the_admin_s_log_go_when_they_are_old(db: None, settings: Any) -> None:
    long_ago = timezone.now() - timedelta(days=100)
    done = {"status": OperationStatus.DONE, "finished_at": long_ago}
    for values in (done, {"status": OperationStatus.RUNNING}, {**done, "finished_at": timezone.now()}):
        Operation.objects.create(kind="replay", asked_by="anna", **values)
    user = User.objects.create(username="anna")
    LogEntry.objects.create(user=user, action_flag=ADDITION, object_repr="old")
    LogEntry.objects.update(action_time=long_ago)
    LogEntry.objects.create(user=user, action_flag=ADDITION, object_repr="new")

    sweep.sweep()
    assert (Operation.objects.count(), LogEntry.objects.count()) == (3, 2)
    settings.OPERATION_RETENTION_DAYS = settings.AUDIT_RETENTION_DAYS = 30
    sweep.sweep()
    assert Operation.objects.filter(finished_at=long_ago).count() == 0
    assert Operation.objects.count() == 2
    assert [entry.object_repr for entry in LogEntry.objects.all()] == ["new"]


def test_ids_are_freed_in_batches(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST", 2)
    make_messages(channel, *(f"m{n}" for n in range(5)))
    run("UPDATE message_key SET pruned_at = now() - interval '401 days'")

    assert records.free_ids() == 2
    sweep.sweep()
    assert not MessageKey.objects.exists()


def statements_of(act: Callable[[], Any]) -> list[tuple[str, Any]]:
    """What an act runs; it is taken back."""
    told: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, parameters: Any, *rest: Any) -> Any:
        if sql.lstrip().startswith("WITH"):
            told.append((sql, parameters))
        return execute(sql, parameters, *rest)

    with transaction.atomic(), connection.execute_wrapper(listen):
        act()
        transaction.set_rollback(True)
    return told


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


def test_freeing_ids_touches_only_those_that_are_free_now(channel: Channel) -> None:
    call_command("make_history", "--messages=30000", "--days=5", "--add", verbosity=0)
    make_messages(channel, "old")
    run("UPDATE message_key SET pruned_at = now() - interval '401 days' WHERE message_id = 'old'")
    run("UPDATE message_key SET pruned_at = now() WHERE message_id LIKE 'h1-1%'")
    run("ANALYZE")

    [(sql, told)] = statements_of(records.free_ids)
    assert rows_touched(sql, told) < 10
