"""Whatever is done with messages for later, in whatever order: the tables say what a plain model says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from broker_project.lib.errors import BrokerError
from channels_app import counts
from channels_app.delivery.accept import Incoming
from channels_app.delivery.accept_batch import store_new
from channels_app.models import DeliveryJob, Message
from scheduling_app import dispatch, selectors, services
from scheduling_app.accept import Later, Times, store_later
from scheduling_app.dispatch import Lane
from scheduling_app.errors import AlreadyCancelled, AlreadyDispatched
from scheduling_app.models import ScheduledMessage
from scheduling_app.models.scheduled_message import ScheduledStatus
from tests.channels_app.delivery.test_accept_batch import at_once
from tests.channels_app.registry import make_channel, make_consumer, make_producer

BATCH_SIZE = 2
PARTITIONS = 2
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

NAMES = st.sampled_from("abcdefgh")
# Few moments, so that some fall together.
MOMENTS = st.integers(0, 6).map(lambda tens: timedelta(minutes=10 * tens))
SPREADS = st.sampled_from([timedelta(0), timedelta(seconds=1)])
CONTENTS = st.tuples(st.binary(min_size=1, max_size=8), st.integers(-3, 3))
LANES = st.integers(0, PARTITIONS - 1)

LOST: dict[ScheduledStatus, type[BrokerError]] = {
    ScheduledStatus.DISPATCHED: AlreadyDispatched,
    ScheduledStatus.CANCELLED: AlreadyCancelled,
}


@dataclass(frozen=True)
class Row:
    """What the model knows of a message for later; `place` is its place among all that were stored."""

    place: int
    partition: int
    asked: datetime
    due: datetime
    payload: bytes
    priority: int
    status: ScheduledStatus = ScheduledStatus.SCHEDULED
    dispatched_at: datetime | None = None


@pytest.mark.django_db(transaction=True)
def test_the_tables_agree_with_a_plain_model() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


class Machine(RuleBasedStateMachine):
    """Each example has a channel of its own. The clock begins now and is only moved on."""

    def __init__(self) -> None:
        super().__init__()
        self.channel = make_channel(uuid4().hex, partitions=PARTITIONS)
        self.producer = make_producer(uuid4().hex)
        make_consumer(self.channel)
        self.begun = self.now = timezone.now()
        self.rows: dict[str, Row] = {}
        # In the order of the message table, with what they carry.
        self.messages: list[tuple[str, bytes, int]] = []
        self.for_now: set[str] = set()

    @rule(name=NAMES, ahead=MOMENTS, spread=SPREADS, content=CONTENTS, partition=LANES)
    def schedule(
        self, name: str, ahead: timedelta, spread: timedelta, content: tuple[bytes, int], partition: int
    ) -> None:
        asked = self.begun + ahead
        times = Times(_microseconds(asked), _microseconds(asked + spread))
        is_new = at_once(store_later, [Later(self._incoming(name, content, partition), times)]) == [[True]]
        assert is_new is self._is_free(name)
        if is_new:
            self.rows[name] = Row(len(self.rows), partition, asked, asked + spread, *content)

    @rule(name=NAMES, content=CONTENTS)
    def publish(self, name: str, content: tuple[bytes, int]) -> None:
        """For now, with an id out of the same few."""
        is_new = at_once(store_new, [self._incoming(name, content, 0)]) == [[True]]
        assert is_new is self._is_free(name)
        if is_new:
            self.for_now.add(name)
            self.messages.append((name, *content))

    @rule(name=NAMES)
    def cancel(self, name: str) -> None:
        if self._won(name, lambda message: services.cancel(message=message, by="a test")):
            self.rows[name] = replace(self.rows[name], status=ScheduledStatus.CANCELLED)

    @rule(name=NAMES, ahead=MOMENTS)
    def reschedule(self, name: str, ahead: timedelta) -> None:
        """What it was spread by stays."""
        to = self.begun + ahead
        if self._won(name, lambda message: services.reschedule(message=message, to=to, by="a test")):
            row = self.rows[name]
            self.rows[name] = replace(row, asked=to, due=to + (row.due - row.asked))

    @rule(name=NAMES, content=CONTENTS)
    def edit(self, name: str, content: tuple[bytes, int]) -> None:
        payload, priority = content
        values: dict[str, Any] = {"payload": payload, "priority": priority}
        if self._won(name, lambda message: services.change(message=message, by="a test", **values)):
            self.rows[name] = replace(self.rows[name], payload=payload, priority=priority)

    @rule(name=NAMES)
    def dispatch_now(self, name: str) -> None:
        """Due by PostgreSQL's clock, which is behind the moved one, if any; what is due already keeps its place."""
        before = timezone.now()
        if self._won(name, lambda message: services.dispatch_now(message=message, by="a test")):
            due = ScheduledMessage.objects.get(channel=self.channel, message_id=name).due_at
            assert due == self.rows[name].due or before <= due <= timezone.now()
            self.now = max(self.now, due)
            self.rows[name] = replace(self.rows[name], asked=min(self.rows[name].asked, due), due=due)

    @rule(partition=LANES)
    def dispatch_a_batch(self, partition: int) -> None:
        self._dispatch(partition)

    @rule(on=MOMENTS)
    def move_the_clock_and_dispatch(self, on: timedelta) -> None:
        self.now += on
        for partition in range(PARTITIONS):
            while self._dispatch(partition):
                pass

    @rule()
    def restart(self) -> None:
        connections.close_all()

    @invariant()
    def rows_are_as_the_model_has_them(self) -> None:
        found = ScheduledMessage.objects.filter(channel=self.channel).order_by("pk")
        assert [_seen(row) for row in found] == [
            (name, row.partition, row.asked, row.due, row.payload, row.priority, row.status, row.dispatched_at)
            for name, row in self.rows.items()
        ]

    @invariant()
    def only_what_was_dispatched_is_a_message_and_in_order(self) -> None:
        found = Message.objects.filter(channel=self.channel).order_by("pk")
        assert [(row.message_id, bytes(row.payload), row.priority) for row in found] == self.messages
        jobs = DeliveryJob.objects.filter(channel=self.channel).order_by("pk").values_list("message__message_id")
        assert [name for (name,) in jobs] == [name for name, *_ in self.messages if name not in self.for_now]

    @invariant()
    def nothing_went_early(self) -> None:
        went = ScheduledMessage.objects.filter(channel=self.channel, dispatched_at__isnull=False)
        assert all(row.dispatched_at and row.dispatched_at >= row.due_at >= row.scheduled_for for row in went)

    @invariant()
    def counters_say_what_the_rows_say(self) -> None:
        assert not counts.check().total
        waiting = [row.due for row in self.rows.values() if row.status is ScheduledStatus.SCHEDULED]
        gone = [row for row in self.rows.values() if row.status is ScheduledStatus.DISPATCHED]
        expected = selectors.ForLater(len(waiting), len(gone), min(waiting, default=None))
        assert selectors.for_later(self.channel) == expected

    def _is_free(self, name: str) -> bool:
        return name not in self.rows and name not in self.for_now

    def _incoming(self, name: str, content: tuple[bytes, int], partition: int) -> Incoming:
        payload, priority = content
        return Incoming(self.channel.pk, self.producer.pk, name, payload, "text/plain", priority, {}, partition)

    def _won(self, name: str, act: Callable[[ScheduledMessage], None]) -> bool:
        """Whoever comes too late hears what was first, and changes nothing."""
        if name not in self.rows:
            return False
        message = selectors.get_scheduled_message(self.channel, name)
        status = self.rows[name].status
        if status is ScheduledStatus.SCHEDULED:
            act(message)
            return True
        with pytest.raises(LOST[status]):
            act(message)
        return False

    def _dispatch(self, partition: int) -> int:
        """One batch, of the model and of the tables."""
        due = [
            name
            for name, row in self.rows.items()
            if (row.partition, row.status) == (partition, ScheduledStatus.SCHEDULED) and row.due <= self.now
        ]
        moving = sorted(due, key=lambda name: (self.rows[name].due, self.rows[name].place))[:BATCH_SIZE]
        done = dispatch.dispatch_batch(Lane(self.channel.pk, partition), now=self.now)
        assert (done.messages, done.refused) == (len(moving), 0)
        for name in moving:
            row = replace(self.rows[name], status=ScheduledStatus.DISPATCHED, dispatched_at=self.now)
            self.rows[name] = row
            self.messages.append((name, row.payload, row.priority))
        return len(moving)


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def _seen(row: ScheduledMessage) -> tuple[Any, ...]:
    kept = row.message_id, row.partition, row.scheduled_for, row.due_at
    return (*kept, bytes(row.payload), row.priority, row.status, row.dispatched_at)


@pytest.fixture(autouse=True)
def small_batches(settings: Any) -> None:
    settings.SCHEDULER_BATCH_SIZE = BATCH_SIZE
