"""Rules on real rows: what begins an episode, what ends it, and that each is one."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from broker_project.lib.conditions import Condition
from broker_project.lib.pg_lock import only_one
from channels_app.alerts import watching
from channels_app.alerts.watching import WATCH_LOCK, watch
from channels_app.models import Alert, AlertKind, Channel, Consumer, ConsumerState, DeliveryJob, Producer, Progress
from channels_app.services import delete
from dlq_app import policies
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer
from tests.dlq_app.letters import make_dead
from tests.scheduling_app.later import make_scheduled
from watch_app.models import AlertRule, Recorded

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _only_rules_of_the_case(db: None) -> None:
    AlertRule.objects.all().delete()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def make_rule(kind: AlertKind, threshold: float, **values: Any) -> AlertRule:
    usual = {"name": f"{kind} {AlertRule.objects.count()}", "hold_seconds": 0}
    return AlertRule.objects.create(kind=kind, threshold=threshold, **{**usual, **values})


def open_alerts() -> list[tuple[str, str]]:
    return [(alert.kind, alert.about) for alert in Alert.objects.open().named().order_by("pk")]


def test_a_job_that_waits_too_long_is_an_alert_until_it_is_taken(
    consumer: Consumer, producer: Producer, now: datetime
) -> None:
    make_rule(AlertKind.OLDEST_WAITING, 300)
    job = make_job(consumer, producer)
    DeliveryJob.objects.update(created_at=now - 4 * MINUTE)
    assert watch(now) == 0
    assert watch(now + 2 * MINUTE) == 1
    assert open_alerts() == [("oldest_waiting", "orders / billing")]

    DeliveryJob.objects.filter(pk=job.pk).update(status=1003)
    assert watch(now + 3 * MINUTE) == 1
    assert open_alerts() == []


def test_a_disabled_consumer_is_an_alert_until_it_is_resumed(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0)
    ConsumerState.objects.update(disabled_at=now - MINUTE, disabled_reason="gone")
    assert watch(now) == 1
    ConsumerState.objects.resume()
    assert watch(now) == 1
    assert open_alerts() == []


def test_a_breaker_that_is_open_for_long_is_an_alert(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.BREAKER_OPEN, 600)
    ConsumerState.objects.update(breaker_opened_at=now - 9 * MINUTE, breaker_until=now)
    assert watch(now) == 0
    assert watch(now + 2 * MINUTE) == 1
    assert open_alerts() == [("breaker_open", "orders / billing")]


def test_scheduled_messages_that_are_late_are_an_alert_unless_their_channel_is_slow_on_purpose(
    channel: Channel, producer: Producer, now: datetime
) -> None:
    make_rule(AlertKind.SCHEDULE_LAG, 60)
    make_scheduled(channel, producer, "late", scheduled_for=now - 2 * MINUTE)
    make_scheduled(make_channel("slow", release_per_second=1.0), producer, "slow", scheduled_for=now - 2 * MINUTE)
    assert watch(now) == 1
    assert open_alerts() == [("schedule_lag", "orders")]


def test_a_part_that_stands_still_is_an_alert(now: datetime) -> None:
    make_rule(AlertKind.NO_PROGRESS, 60)
    for part in ("beat", "dispatch", "delivery"):
        Progress.objects.mark(part, now)
    assert watch(now) == 0
    Progress.objects.filter(name="dispatch").update(at=now - 2 * MINUTE)
    assert watch(now) == 1
    assert open_alerts() == [("no_progress", "dispatch")]


def test_letters_are_counted_by_channel_and_for_a_consumer_that_a_rule_names(
    channel: Channel, consumer: Consumer, producer: Producer, now: datetime
) -> None:
    other = make_consumer(channel, "other")
    make_rule(AlertKind.DEPTH, 2)
    make_rule(AlertKind.DEPTH, 1, consumer=other)
    for whose in (consumer, other, other):
        make_dead(whose, producer)
    assert watch(now) == 2
    assert sorted(open_alerts()) == [("depth", "orders"), ("depth", "orders / other")]


def test_a_channels_policy_stands_before_the_rule_for_all(
    channel: Channel, consumer: Consumer, producer: Producer, now: datetime
) -> None:
    make_rule(AlertKind.DEPTH, 1)
    policies.put(channel, values={"alert_depth": 3}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)
    assert watch(now) == 0
    policies.put(channel, values={"alert_depth": None}, by="anna")
    assert watch(now) == 1


def test_a_number_that_flaps_is_one_episode(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0, hold_seconds=60)
    for second in range(0, 600, 10):
        is_down = second // 30 % 2 == 0 or second < 90
        ConsumerState.objects.update(disabled_at=now - MINUTE if is_down else None, disabled_reason="gone")
        watch(now + timedelta(seconds=second))
    assert Alert.objects.count() == 1
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    watch(now + timedelta(seconds=600))
    ConsumerState.objects.resume()
    for second in range(610, 700, 10):
        watch(now + timedelta(seconds=second))
    alert = Alert.objects.get()
    assert alert.began_at == now + timedelta(seconds=60)
    assert alert.ended_at == now + timedelta(seconds=670)


def test_what_did_not_hold_for_long_enough_never_was(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0, hold_seconds=60)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    assert watch(now) == 0
    ConsumerState.objects.resume()
    assert watch(now + timedelta(seconds=10)) == 0
    assert not Alert.objects.exists()


def test_after_a_pause_of_the_watch_what_was_suspected_has_to_hold_anew(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0, hold_seconds=60)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    watch(now)
    assert watch(now + timedelta(hours=8)) == 0
    assert watch(now + timedelta(hours=8, seconds=60)) == 1


@pytest.mark.parametrize("change", [{"enabled": False}, {"threshold": 10**6}])
def test_a_rule_that_is_switched_off_or_eased_ends_its_alert(
    consumer: Consumer, now: datetime, change: dict[str, Any]
) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    watch(now)
    AlertRule.objects.update(**change)
    assert watch(now) == 1
    assert open_alerts() == []


def test_a_deleted_consumer_has_no_alerts(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    watch(now)
    delete(consumer, condition=Condition(etags=frozenset({consumer.etag})))
    assert watch(now) == 1
    assert open_alerts() == []


def test_a_number_that_cannot_be_measured_stops_no_other_and_keeps_its_alerts(
    consumer: Consumer, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_rule(AlertKind.CONSUMER_DISABLED, 0)
    make_rule(AlertKind.BREAKER_OPEN, 0)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    watch(now)
    monkeypatch.setattr("watch_app.alerts.measures._DISABLED", "SELECT 1 / 0")
    ConsumerState.objects.update(disabled_at=None, breaker_opened_at=now - MINUTE)

    assert watch(now) == 1
    assert open_alerts() == [("consumer_disabled", "orders / billing"), ("breaker_open", "orders / billing")]


def test_a_look_costs_the_same_for_one_consumer_and_for_many(channel: Channel, now: datetime) -> None:
    for kind in AlertKind:
        make_rule(kind, 1)
    watch(now)
    spent = []
    for count in (1, 30):
        for number in range(count):
            make_consumer(channel, f"k{count}-{number}")
        ConsumerState.objects.update(disabled_at=now - MINUTE, breaker_opened_at=None)
        with CaptureQueriesContext(connection) as queries:
            watch(now)
        spent.append(len(queries))
    assert spent[0] == spent[1]


@pytest.mark.django_db(transaction=True)
def test_of_two_looks_at_once_one_begins_the_alert(now: datetime) -> None:
    make_consumer(make_channel())
    make_rule(AlertKind.CONSUMER_DISABLED, 0)
    ConsumerState.objects.update(disabled_at=now - MINUTE)
    found: list[int] = []

    def look() -> None:
        found.append(watching.watch(now))
        connections.close_all()

    looks = [threading.Thread(target=look) for _ in range(6)]
    for one in looks:
        one.start()
    for one in looks:
        one.join()
    assert sum(found) == 1
    assert Alert.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_finds_another_at_it_leaves_it_to_him(now: datetime) -> None:
    make_rule(AlertKind.NO_PROGRESS, 60)
    found: list[int] = []

    def look() -> None:
        found.append(watching.watch(now + timedelta(days=1)))
        connections.close_all()

    with only_one(WATCH_LOCK, patience_seconds=0):
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert found == [0]
    assert not Alert.objects.exists()


def record(consumer: Consumer, at: datetime, *, delivered: int, failed: int) -> None:
    """A minute of a consumer, as the record keeps it."""
    Recorded.objects.create(
        channel_id=consumer.channel_id, consumer_id=consumer.pk, step=60, at=at, delivered=delivered, failed=failed
    )


def test_a_consumer_most_of_whose_tries_fail_is_an_alert_until_they_succeed(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.SUCCESS_RATE, 90, least_tries=20)
    record(consumer, now - MINUTE, delivered=15, failed=4)
    assert watch(now) == 0
    record(consumer, now, delivered=0, failed=1)
    assert watch(now) == 1
    alert = Alert.objects.open().named().get()
    assert (alert.about, alert.value) == ("orders / billing", 75.0)

    record(consumer, now + 4 * MINUTE, delivered=1, failed=0)
    assert watch(now + 6 * MINUTE) == 1
    assert open_alerts() == []


def test_a_consumer_that_is_not_tried_any_more_is_not_known_to_be_better(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.SUCCESS_RATE, 90, least_tries=20)
    record(consumer, now, delivered=0, failed=50)
    watch(now)
    assert watch(now + timedelta(hours=1)) == 0
    assert open_alerts() == [("success_rate", "orders / billing")]


def test_rates_of_old_minutes_and_of_whole_channels_are_no_alert(consumer: Consumer, now: datetime) -> None:
    make_rule(AlertKind.SUCCESS_RATE, 90, least_tries=20)
    record(consumer, now - 5 * MINUTE, delivered=0, failed=50)
    Recorded.objects.create(channel_id=consumer.channel_id, consumer_id=0, step=60, at=now, failed=50)
    assert watch(now) == 0
