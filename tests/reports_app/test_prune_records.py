"""What no channel owns goes by age: operations, the admin's log, ids of what was pruned long ago."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from channels_app.models import Channel, MessageKey, Operation
from channels_app.models.operation import OperationStatus
from reports_app.prune import records, sweep
from tests.channels_app.messages import make_messages, rows_touched
from tests.reports_app.lake import run, statements_of

pytestmark = pytest.mark.django_db


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


def test_freeing_ids_touches_only_those_that_are_free_now(channel: Channel) -> None:
    call_command("make_history", "--messages=30000", "--days=5", "--add", verbosity=0)
    make_messages(channel, "old")
    run("UPDATE message_key SET pruned_at = now() - interval '401 days' WHERE message_id = 'old'")
    run("UPDATE message_key SET pruned_at = now() WHERE message_id LIKE 'h1-1%'")
    run("ANALYZE")

    [(sql, told)] = statements_of(records.free_ids)
    assert rows_touched(sql, told) < 10
