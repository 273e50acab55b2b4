"""Where the sweep does not come, a process that is there looks in its place."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from channels_app.alerts import watchdog, watching
from channels_app.models import Alert, AlertKind, Progress
from tests.acceptance.receiver import Receiver, receiving
from watch_app.models import AlertRule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def webhook(settings: Any) -> Iterator[Receiver]:
    with receiving() as receiver:
        settings.OPERATIONS_WEBHOOK_URL = f"{receiver.url}/operations"
        yield receiver


def test_while_somebody_watches_it_does_nothing() -> None:
    Progress.objects.mark(watching.PART, timezone.now() - timedelta(seconds=20))
    assert not watchdog.look()


def test_when_nobody_does_it_watches_and_tells(webhook: Receiver) -> None:
    AlertRule.objects.all().delete()
    AlertRule.objects.create(name="Still", kind=AlertKind.NO_PROGRESS, threshold=60, hold_seconds=0)
    for part in ("dispatch", "delivery"):
        Progress.objects.mark(part, timezone.now())
    Progress.objects.mark("beat", timezone.now() - timedelta(minutes=2))
    Progress.objects.mark(watching.PART, timezone.now() - timedelta(minutes=1))

    assert watchdog.look()
    assert not watchdog.look()

    [delivery] = webhook.deliveries
    told = json.loads(delivery.body)
    assert (told["type"], told["kind"], told["part"]) == ("broker.alert_began", "no_progress", "beat")
    assert told["text"] == "beat has done nothing for more than 1 minute."
    assert Alert.objects.get().began_posted_at is not None


def test_a_database_that_is_away_ends_no_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: Any, **_kwargs: Any) -> None:
        raise DatabaseError

    monkeypatch.setattr(watchdog, "_is_overdue", away)
    assert not watchdog.look()
