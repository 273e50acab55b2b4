"""How things stand at this moment, by as many queries however much there is."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from channels_app.models import Channel, ChannelState, Consumer, ConsumerState, DeliveryJob, Producer, Progress
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import make_dead
from tests.scheduling_app.later import make_scheduled
from watch_app import now as module
from watch_app.admin import sections
from watch_app.now import now
from watch_app.values import Cause, Scope

pytestmark = pytest.mark.django_db


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


def test_counts_are_of_the_scope(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    other = make_consumer(make_channel("other"), "other")
    for _ in range(2):
        make_job(consumer, producer)
    make_job(other, producer)
    make_job(other, producer, status=1002, lease_until=timezone.now())
    make_dead(other, producer, reason="timeout")
    make_dead(consumer, producer)
    make_dead(consumer, producer)

    whole, mine = now(Scope()), now(Scope(channel.pk))
    assert (whole.queued, whole.in_flight, whole.letters) == (3, 1, 3)
    assert whole.causes == [Cause("http_5xx", 2), Cause("timeout", 1)]
    assert (mine.queued, mine.in_flight, mine.letters) == (2, 0, 2)
    assert now(Scope(channel.pk, consumer.pk)).consumers == mine.consumers
    assert [(one.channel, one.consumer, one.letters) for one in mine.consumers] == [("orders", "billing", 2)]


def test_open_alerts_are_counted_in_the_scope(channel: Channel, consumer: Consumer) -> None:
    make_alert(channel)
    make_alert(channel, rule_key="rule-2", consumer=consumer)
    make_alert(None, part="beat")
    make_alert(make_channel("over"), ended_at=timezone.now())
    make_alert(make_channel("suspected"), began_at=None)

    scopes = (Scope(), Scope(channel.pk), Scope(channel.pk, consumer.pk))
    assert [now(scope).open_alerts for scope in scopes] == [3, 2, 1]


def test_the_worst_come_first(channel: Channel, producer: Producer) -> None:
    made = {name: make_consumer(channel, name) for name in ("well", "lettered", "behind", "open", "paused", "disabled")}
    then = timezone.now()
    ConsumerState.objects.filter(consumer=made["open"]).update(breaker_until=then, breaker_opened_at=then)
    ConsumerState.objects.filter(consumer=made["paused"]).update(paused_at=then)
    ConsumerState.objects.filter(consumer=made["disabled"]).update(disabled_at=then, paused_at=then)
    job = make_job(made["behind"], producer)
    DeliveryJob.objects.filter(pk=job.pk).update(created_at=then - timedelta(seconds=90))
    make_dead(made["lettered"], producer)
    held = make_consumer(make_channel("held"), "held")
    ChannelState.objects.filter(channel=held.channel).update(paused_at=then)
    ConsumerState.objects.filter(consumer=held).update(breaker_until=then, breaker_opened_at=then)

    found = now(Scope()).consumers

    assert [one.consumer for one in found] == ["disabled", "paused", "held", "open", "behind", "lettered", "well"]
    assert [one.state for one in found] == ["disabled", "paused", "channel paused", "open", "ok", "ok", "ok"]
    assert found[4].oldest_waiting_seconds == pytest.approx(90, abs=5)
    assert {one.state for one in found} == sections.STATES.keys()


def test_too_many_are_a_number(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        make_consumer(channel, f"k{number}")
    monkeypatch.setattr(module, "MOST_CONSUMERS", 2)

    found = now(Scope())

    assert (len(found.consumers), found.consumers_left_out) == (2, 1)


@pytest.mark.parametrize("scoped", [False, True])
def test_what_is_due_is_told_by_when(channel: Channel, producer: Producer, scoped: bool) -> None:
    at = timezone.now()
    for name, minutes in (("late", -2.0), ("soon", 7.0), ("sooner", 6.0), ("tonight", 300.0), ("never", 3000.0)):
        make_scheduled(channel, producer, name, scheduled_for=at + timedelta(minutes=minutes), partition=len(name) % 2)
    make_scheduled(make_channel("other"), producer, "other", scheduled_for=at + timedelta(minutes=1))

    found = now(Scope(channel.pk if scoped else 0))

    others = 0 if scoped else 1
    assert found.scheduled == 5 + others
    assert found.overdue_seconds == pytest.approx(120, abs=5)
    assert [due.count for due in found.next_hour] == [others, 2, *[0] * 10]
    day = [due.count for due in found.next_day]
    assert (len(day), day[0], sum(day)) == (24, 2 + others, 3 + others)


def test_parts_have_the_age_of_their_last_progress(db: None) -> None:
    Progress.objects.mark("beat")
    for other in ("lake-exported", "alerts", "alerts-told"):
        Progress.objects.create(name=other, at=timezone.now())

    parts = {part.name: part.age_seconds for part in now(Scope()).parts}

    assert list(parts) == ["beat", "dispatch", "delivery", "reports"]
    assert parts["beat"] == pytest.approx(0, abs=5)
    assert parts["dispatch"] is None


def test_channels_that_are_held_are_named(channel: Channel) -> None:
    ChannelState.objects.filter(channel=channel).update(paused_at=timezone.now())

    assert now(Scope()).paused_channels == ["orders"]
    assert now(Scope(make_channel("other").pk)).paused_channels == []


def test_queues_have_their_depths_and_none_without_redis(redis_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    redis_client.rpush("dispatch", "a", "b")
    module._client.cache_clear()
    depths = now(Scope()).depths
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    module._client.cache_clear()

    assert depths == {"dispatch": 2, "delivery": 0, "reports": 0}
    assert now(Scope()).depths is None
    module._client.cache_clear()


def test_as_many_queries_however_much_there_is(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            now(Scope())
        return len(queries)

    few = asked()
    for number in range(20):
        one = make_consumer(make_channel(f"c{number}"), f"k{number}")
        make_job(one, producer)
        make_dead(one, producer)

    assert asked() == few <= 6
