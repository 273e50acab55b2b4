"""What happened lately, newest first, each with the page behind it."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from channels_app.models import Channel, Consumer, ConsumerState, Operation, OperationStatus, Producer
from dlq_app.models import DeadLetter
from reports_app.models import Report
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import make_dead
from watch_app.ticker import SOURCES, events
from watch_app.values import Event, Scope

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


@pytest.fixture
def happened(channel: Channel, consumer: Consumer, producer: Producer) -> list[Event]:
    """One of each kind, the newest first."""
    now = timezone.now()
    user = get_user_model().objects.create(username="anna", is_staff=True, is_superuser=True)
    LogEntry.objects.create(
        user=user, action_flag=CHANGE, action_time=now - timedelta(minutes=5), object_id=str(channel.pk),
        content_type=ContentType.objects.get_for_model(Channel), object_repr="orders", change_message="Paused",
    )  # fmt: skip
    Report.objects.create(asked_by="ben", created_at=now - timedelta(minutes=4))
    Operation.objects.create(
        kind="redrive", channel=channel, asked_by="cleo", created_at=now - timedelta(minutes=3),
        status=OperationStatus.DONE, finished_at=now - timedelta(minutes=2),
    )  # fmt: skip
    ConsumerState.objects.filter(consumer=consumer).update(disabled_at=now - timedelta(minutes=1))
    for _ in range(3):
        make_dead(consumer, producer)
    DeadLetter.objects.update(entered_at=now)
    return events(Scope(), 50, SOURCES)


def test_each_kind_is_told_newest_first(happened: list[Event]) -> None:
    assert [(event.kind, event.text) for event in happened] == [
        ("letter", "3 dead letters of orders/billing: http_5xx"),
        ("consumer", "orders/billing was disabled"),
        ("operation", "redrive is done"),
        ("operation", "redrive began, asked for by cleo"),
        ("report", "A report was asked for by ben"),
        ("admin", "anna: Paused (channel orders)"),
    ]


def test_every_link_leads_to_a_page(happened: list[Event]) -> None:
    client = Client()
    client.force_login(get_user_model().objects.get(username="anna"))

    assert [client.get(event.url).status_code for event in happened] == [200] * 6


def test_a_channel_and_a_consumer_have_their_own(happened: list[Event], channel: Channel, consumer: Consumer) -> None:
    assert {event.kind for event in events(Scope(channel.pk), 50, SOURCES)} == {
        "letter",
        "consumer",
        "operation",
        "admin",
    }
    assert {event.kind for event in events(Scope(channel.pk, consumer.pk), 50, SOURCES)} >= {"letter", "consumer"}
    assert events(Scope(make_channel("quiet").pk), 50, SOURCES) == []


def test_operations_of_others_do_not_push_out_a_channels_own(channel: Channel) -> None:
    mine = Operation.objects.create(kind="redrive", channel=channel, asked_by="cleo")
    for number in range(5):
        Operation.objects.create(kind="replay", channel=make_channel(f"other-{number}"), asked_by="dora")

    [event] = events(Scope(channel.pk), 3, SOURCES)

    assert (event.text, str(mine.pk) in event.url) == ("redrive began, asked for by cleo", True)


def test_no_more_than_asked_for_by_as_many_queries(
    happened: list[Event], consumer: Consumer, producer: Producer
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(events(Scope(), 3, SOURCES)) == 3
        return len(queries)

    few = asked()
    for number in range(30):
        Operation.objects.create(kind="replay", asked_by=f"u{number}")
        make_dead(consumer, producer, reason="timeout")

    assert asked() == few <= 7


def test_what_is_not_asked_for_pushes_nothing_out_and_costs_nothing(happened: list[Event]) -> None:
    with CaptureQueriesContext(connection) as queries:
        found = events(Scope(), 1, {"report"})

    assert [event.text for event in found] == ["A report was asked for by ben"]
    assert len(queries) == 1
    assert events(Scope(), 50, ()) == []


def test_an_alert_is_told_when_it_begins_and_when_it_is_over(channel: Channel, consumer: Consumer) -> None:
    now = timezone.now()
    make_alert(channel, consumer=consumer, began_at=now - timedelta(hours=1), ended_at=now)
    make_alert(crossed_at=now, began_at=None)

    assert [(event.kind, event.text) for event in events(Scope(channel.pk), 50, SOURCES)] == [
        ("alert", "Many dead letters: orders/billing is over"),
        ("alert", "Many dead letters: orders/billing"),
    ]
    assert events(Scope(channel.pk + 1), 50, SOURCES) == []
