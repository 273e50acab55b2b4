"""Seeking: both indexes go to one place. And a model of polls, acknowledgements and seeks, at random."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, JobStatus, Message
from channels_app.pull.index import seek as seeking
from channels_app.pull.index.ack import AckAboveSent
from channels_app.pull.index.moments import InvalidTime, moment
from channels_app.pull.index.seek import PASSED_OVER, NoSuchPlace
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.pull.pollers import Poller, make_poller, publish

pytestmark = pytest.mark.django_db(transaction=True)

INFLIGHT, DELIVERED, QUEUED = JobStatus.INFLIGHT, JobStatus.DELIVERED, JobStatus.QUEUED


@pytest.fixture
def poller() -> Poller:
    made = make_poller()
    publish(made.consumer.channel, 10)
    return made


def index_before(channel: Channel, at: datetime) -> int:
    return on_a_loop(lambda own: seeking.index_before(own, channel.pk, at))


def test_back_everything_comes_again_as_a_new_attempt(poller: Poller) -> None:
    poller.poll()
    poller.ack_up_to(6)

    poller.seek(3)

    assert poller.indexes == (3, 3)
    assert poller.statuses() == [DELIVERED] * 6 + [INFLIGHT] * 4
    assert [(item.index, item.attempt) for item in poller.poll().items] == [(index, 2) for index in range(4, 11)]
    assert poller.statuses() == [DELIVERED] * 3 + [INFLIGHT] * 7


def test_after_a_seek_back_what_was_not_polled_again_cannot_be_acknowledged(poller: Poller) -> None:
    poller.poll()
    poller.seek(3)

    with pytest.raises(AckAboveSent):
        poller.ack(4)


def test_forward_what_is_passed_over_is_delivered_and_says_why(poller: Poller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeking, "BATCH", 3)
    poller.poll(limit=2)

    poller.seek(8)

    assert poller.indexes == (8, 8)
    assert poller.statuses() == [DELIVERED] * 8 + [QUEUED] * 2
    assert set(DeliveryAttempt.objects.values_list("attempt", "error")) == {(1, PASSED_OVER)}
    assert DeliveryAttempt.objects.count() == 8
    assert poller.take() == [9, 10]


def test_between_the_indexes_it_is_forward_for_one_and_back_for_the_other(poller: Poller) -> None:
    poller.poll()

    poller.seek(4)

    assert poller.indexes == (4, 4)
    assert poller.statuses() == [DELIVERED] * 4 + [INFLIGHT] * 6


@pytest.mark.parametrize("index", [11, 10**17])
def test_beyond_the_last_is_no_place(poller: Poller, index: int) -> None:
    with pytest.raises(NoSuchPlace):
        poller.seek(index)

    assert poller.indexes == (0, 0)


def test_a_time_stands_for_the_place_before_the_first_message_from_then_on(poller: Poller) -> None:
    channel, now = poller.consumer.channel, timezone.now()
    for index in range(1, 11):
        came = now + timedelta(minutes=5 * index)
        Message.objects.filter(sequence=index).update(received_at=came, dispatched_at=came)

    def at(minutes: float) -> int:
        return index_before(channel, now + timedelta(minutes=minutes))

    assert [at(0), at(5), at(5.1), at(22), at(50), at(50.1)] == [0, 0, 1, 4, 9, 10]


def test_messages_a_little_out_of_order_are_not_missed(poller: Poller) -> None:
    """One that was stored by a slow transaction is numbered after others that came later."""
    channel, now = poller.consumer.channel, timezone.now()
    seconds = [0, 100, 120, 105, 110, 200, 190, 300, 310, 400]
    for index, second in enumerate(seconds, start=1):
        dispatched = now + timedelta(seconds=max(seconds[:index]))
        received = now + timedelta(seconds=second)
        Message.objects.filter(sequence=index).update(received_at=received, dispatched_at=dispatched)

    for second in range(0, 400, 7):
        first = next(index for index, received in enumerate(seconds, start=1) if received >= second)
        assert index_before(channel, now + timedelta(seconds=second)) == first - 1


def test_what_waited_long_for_its_fan_out_is_not_passed_over(poller: Poller) -> None:
    """Messages for later were numbered meanwhile, as soon as they were received."""
    channel, now = poller.consumer.channel, timezone.now()
    minutes = [10, 20, 30, 40, 50, 5, 15, 25, 35, 45]
    for index, minute in enumerate(minutes, start=1):
        dispatched = now + timedelta(minutes=max(minutes[:index]))
        received = now + timedelta(minutes=minute)
        Message.objects.filter(sequence=index).update(received_at=received, dispatched_at=dispatched)

    assert [index_before(channel, now + timedelta(minutes=minute)) for minute in (0, 11, 22, 41, 49)] == [0, 1, 2, 4, 4]


def test_a_channel_without_messages_has_one_place() -> None:
    assert index_before(make_poller().consumer.channel, timezone.now()) == 0


@pytest.mark.parametrize(
    "text", ["", "now", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "0001-01-01T00:00:00+14:00", 5]
)
def test_what_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(InvalidTime):
        moment(text)


def test_a_time_may_have_an_offset_and_a_fraction() -> None:
    assert moment("2026-01-31T14:00:00.5+02:00") == datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC)


LAST, CAP = 12, 4


@dataclass
class Model:
    """What a poller must be: two numbers, and the indexes in between that are done."""

    acked: int = 0
    sent: int = 0
    done: set[int] = field(default_factory=set)

    def poll(self, start: int | None, limit: int) -> list[int]:
        start = self.sent if start is None else start
        after, until = max(self.sent, start), min(self.acked + CAP, start + limit, LAST)
        if until <= after:
            return []
        # What is handed out again is not done; what is leaped over is as it was.
        self.done -= set(range(after + 1, until + 1))
        self.sent = until
        self._advance()
        return list(range(after + 1, until + 1))

    def ack(self, index: int) -> bool:
        return self._done(range(index, index + 1), index)

    def ack_up_to(self, index: int) -> bool:
        return self._done(range(self.acked + 1, index + 1), index)

    def seek(self, index: int) -> bool:
        self.done |= set(range(self.acked + 1, index + 1))
        self.acked = self.sent = index
        return True

    def _done(self, indexes: range, index: int) -> bool:
        if index > self.sent:
            return False
        self.done |= {one for one in indexes if one > self.acked}
        self._advance()
        return True

    def _advance(self) -> None:
        while self.acked < self.sent and self.acked + 1 in self.done:
            self.acked += 1


PLACES = st.integers(0, LAST)
MOVES = st.one_of(
    st.tuples(st.just("poll"), st.none() | PLACES, st.integers(1, 5)),
    st.tuples(st.just("ack"), PLACES),
    st.tuples(st.just("ack_up_to"), PLACES),
    st.tuples(st.just("seek"), PLACES),
)


def was_taken(act: Callable[[int], object], index: int) -> bool:
    try:
        act(index)
    except AckAboveSent:
        return False
    return True


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(moves=[("poll", None, 4), ("ack_up_to", 4), ("seek", 0), ("poll", 2, 1), ("poll", None, 4), ("ack", 3)])
@given(moves=st.lists(MOVES, max_size=12))
def test_at_random_the_indexes_are_those_of_the_model(moves: list[tuple[Any, ...]]) -> None:
    for table in (DeliveryAttempt, DeliveryJob, Message):
        table.objects.all().delete()
    Consumer.objects.all().delete()
    Channel.objects.all().delete()
    poller, model = make_poller(unacked_cap=CAP), Model()
    publish(poller.consumer.channel, LAST)

    for name, *arguments in moves:
        if name == "poll":
            assert poller.take(*arguments) == model.poll(*arguments)
        else:
            assert was_taken(getattr(poller, name), *arguments) == getattr(model, name)(*arguments)
        acked, sent = poller.indexes
        assert (acked, sent) == (model.acked, model.sent)
        assert acked <= sent <= acked + CAP
        for index in range(acked + 1, sent + 1):
            assert (poller.job(index).status == DELIVERED) == (index in model.done)
