"""`manage.py prune`: all of it now, or how much it would be."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from channels_app.models import Alert, Channel, Consumer, MessageKey, Operation
from channels_app.models.operation import OperationStatus
from reports_app.models import LakeSlice
from reports_app.prune import records
from scheduling_app.models import ScheduledStatus
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.messages import make_messages
from tests.channels_app.registry import make_channel
from tests.reports_app.lake import export, left, make_old, make_scheduled, rows_left, run

pytestmark = pytest.mark.django_db


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


def make_records(channel: Channel) -> None:
    """Of each kind three that are old, in more than a batch, and one that stays."""
    long_ago, user = timezone.now() - timedelta(days=500), User.objects.create(username="anna")
    make_messages(channel, "a", "b", "c", "kept")
    run("UPDATE message_key SET pruned_at = %s WHERE message_id <> 'kept'", [long_ago])
    Operation.objects.create(kind="replay", asked_by="anna", status=OperationStatus.RUNNING)
    for _ in range(3):
        done = {"status": OperationStatus.DONE, "finished_at": long_ago}
        Operation.objects.create(kind="replay", asked_by="anna", **done)
        LogEntry.objects.create(user=user, action_flag=ADDITION, object_repr="old")
        make_alert(channel, ended_at=long_ago)
    make_alert(channel)
    LogEntry.objects.update(action_time=long_ago)
    LogEntry.objects.create(user=user, action_flag=ADDITION, object_repr="new")


def records_left() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (MessageKey, Operation, LogEntry, Alert))


def test_the_command_counts_and_removes_what_no_channel_owns(
    channel: Channel, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST", 2)
    settings.OPERATION_RETENTION_DAYS = settings.AUDIT_RETENTION_DAYS = 30
    make_records(channel)

    said, of_one, done = StringIO(), StringIO(), StringIO()
    call_command("prune", "--dry-run", stdout=said)
    call_command("prune", "--dry-run", "--channel", "orders", stdout=of_one)
    call_command("prune", "--channel", "orders", stdout=StringIO())
    assert said.getvalue().splitlines()[1:] == [
        "no channel: 3 id rows, 3 operation rows, 3 admin log rows, 3 alert rows"
    ]
    assert "no channel" not in of_one.getvalue()
    assert records_left() == (4, 4, 4, 4)

    call_command("prune", stdout=done)
    assert "pruned 3 id rows, 3 operation rows, 3 admin log rows, 3 alert rows" in done.getvalue().splitlines()
    assert records_left() == (1, 1, 1, 1)


def test_what_is_kept_for_good_is_not_counted(channel: Channel, settings: Any) -> None:
    settings.ID_RETENTION_DAYS = settings.OPERATION_RETENTION_DAYS = settings.AUDIT_RETENTION_DAYS = 0
    settings.ALERT_RETENTION_DAYS = 0
    make_records(channel)
    said = StringIO()
    call_command("prune", "--dry-run", stdout=said)
    assert "no channel" not in said.getvalue()
