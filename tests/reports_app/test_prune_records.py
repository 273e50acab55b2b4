"""What goes by age alone: operations, the admin's log, alerts, ids of what was pruned long ago."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from channels_app.models import Alert, Channel, MessageKey, Operation
from channels_app.models.operation import OperationStatus
from reports_app.prune import records, sweep
from tests.channels_app.alerts.episodes import make_alert
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


def test_alerts_go_when_they_have_been_over_for_long(
    channel: Channel, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST", 2)
    now = timezone.now()
    for days in (399, 401, 402, 403):
        make_alert(channel, began_at=now - timedelta(days=500), ended_at=now - timedelta(days=days))
    still_open = make_alert(channel, began_at=now - timedelta(days=500))

    settings.ALERT_RETENTION_DAYS = 0
    sweep.sweep()
    assert Alert.objects.count() == 5
    settings.ALERT_RETENTION_DAYS = 400
    assert records.remove_alerts() == 2
    sweep.sweep()
    assert set(Alert.objects.all()) == {Alert.objects.get(ended_at=now - timedelta(days=399)), still_open}


def test_removing_alerts_touches_only_those_that_are_old(channel: Channel) -> None:
    now = timezone.now()
    make_alert(channel, ended_at=now - timedelta(days=401))
    run("""
        INSERT INTO alert (rule_key, rule, kind, threshold, value, crossed_at, began_at, ended_at)
        SELECT 'rule-1', 'Many dead letters', 'depth', 1, 2, now(), now(), now() FROM generate_series(1, 5000)
    """)
    run("ANALYZE")

    [(sql, told)] = statements_of(records.remove_alerts)
    assert rows_touched(sql, told) < 10


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
