"""Where the sweep does not come, a process that is there looks in its place."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, connections
from django.utils import timezone

from channels_app.alerts import telling, watchdog, watching
from channels_app.models import Alert, AlertKind, Progress
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until
from tests.channels_app.alerts.episodes import make_alert
from watch_app.models import AlertRule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def webhook(settings: Any) -> Iterator[Receiver]:
    with receiving() as receiver:
        settings.OPERATIONS_WEBHOOK_URL = f"{receiver.url}/operations"
        yield receiver


def test_while_somebody_watches_and_tells_it_does_nothing() -> None:
    for part in (watching.PART, telling.PART):
        Progress.objects.mark(part, timezone.now() - timedelta(seconds=20))
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


@pytest.mark.parametrize("told_before", [timedelta(minutes=2), None], ids=["no longer", "never yet"])
def test_when_only_the_delivery_workers_are_gone_it_tells_what_others_saw(
    webhook: Receiver, told_before: timedelta | None
) -> None:
    AlertRule.objects.all().delete()
    AlertRule.objects.create(name="Still", kind=AlertKind.NO_PROGRESS, threshold=60, hold_seconds=0)
    for part in ("beat", "dispatch"):
        Progress.objects.mark(part, timezone.now())
    Progress.objects.mark("delivery", timezone.now() - timedelta(minutes=2))
    if told_before:
        Progress.objects.mark(telling.PART, timezone.now() - told_before)
    watching.watch(timezone.now())
    watched = Progress.objects.get(name=watching.PART).at

    assert watchdog.look()
    assert not watchdog.look()

    [delivery] = webhook.deliveries
    assert json.loads(delivery.body)["part"] == "delivery"
    assert Progress.objects.get(name=watching.PART).at == watched


def test_who_finds_another_telling_does_not_say_that_it_was_done() -> None:
    with closing(connections.create_connection("default")) as another:
        another.cursor().execute("SELECT pg_advisory_lock(%s)", [telling.TELL_LOCK])
        assert telling.tell() == 0
    assert not Progress.objects.filter(name=telling.PART).exists()


@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_a_database_that_is_away_ends_no_watchdog(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: Any, **_kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(watchdog, "_is_overdue", away)
    assert not watchdog.look()


@pytest.fixture
def watchdog_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Thread]:
    """One that hardly pauses between its looks."""
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.02)
    end = threading.Event()
    thread = threading.Thread(target=watchdog._look_until, args=[end])
    thread.start()
    yield thread
    end.set()
    thread.join()


def test_a_surprise_is_logged_and_the_watchdog_goes_on(
    webhook: Receiver, settings: Any, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    make_alert()
    Progress.objects.mark(watching.PART, timezone.now())
    settings.OPERATIONS_WEBHOOK_SECRET = "cannot sign"
    thread = request.getfixturevalue("watchdog_thread")
    wait_until(lambda: "watchdog.failed" in caplog.text, 10)
    assert "cannot sign" not in caplog.text

    settings.OPERATIONS_WEBHOOK_SECRET = ""
    wait_until(lambda: Alert.objects.filter(began_posted_at__isnull=False).exists(), 10)
    assert thread.is_alive()
    assert len(webhook.deliveries) == 1
