"""Storing what is for later, alone and with what is for now, in the real database."""

from functools import partial
from typing import Any

import pytest

from channels_app import counts
from channels_app.delivery.accept import Incoming
from channels_app.models import Message, MessageKey
from scheduling_app.accept import First, Later, Times, firsts, store_batch, store_later
from scheduling_app.models import ScheduledMessage
from tests.channels_app.delivery.test_accept_batch import at_once, incoming
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db(transaction=True)

AT = Times(asked=1_830_340_800_000_001, due=1_830_340_801_000_000)


@pytest.fixture
def ids() -> tuple[int, int]:
    return make_channel().pk, make_producer().pk


def mixed(ids: tuple[int, int], now: str, later: str) -> tuple[dict[int, Incoming], dict[int, Times]]:
    """Of the letters, those for now before those for later."""
    messages = {place: incoming(ids, name) for place, name in enumerate(now + later)}
    return messages, dict.fromkeys(range(len(now), len(now + later)), AT)


def store(batch: Any, *, whole: bool) -> dict[int, bool]:
    async def step(connection: Any, one: Any) -> dict[int, bool]:
        return await store_batch(connection, *one, whole=whole)

    found: dict[int, bool] = at_once(step, batch)[0]
    return found


def test_a_row_keeps_what_was_sent_to_the_microsecond(ids: tuple[int, int]) -> None:
    message = incoming(ids, "m", b"\0\xff", priority=-5, headers={"X-A": "caf\xe9"})._replace(partition=7)

    assert at_once(store_later, [Later(message, AT), Later(message, AT)]) == [[True, False]]

    row = ScheduledMessage.objects.get()
    assert (
        bytes(row.payload),
        row.content_type,
        row.priority,
        row.headers,
        row.partition,
        row.ttl_seconds or 0,
    ) == message[3:]
    assert (row.scheduled_for.isoformat(), row.due_at.isoformat()) == (
        "2028-01-01T12:00:00.000001+00:00",
        "2028-01-01T12:00:01+00:00",
    )
    assert (row.status_name, row.dispatched_at) == ("SCHEDULED", None)
    assert MessageKey.objects.values_list("row_id", "scheduled").get() == (row.pk, True)
    assert not counts.check().total


def test_now_and_later_are_stored_together_or_not_at_all(ids: tuple[int, int]) -> None:
    assert store(mixed(ids, now="ab", later="cd"), whole=True) == dict.fromkeys(range(4), True)

    assert not all(store(mixed(ids, now="xc", later="y"), whole=True).values())
    assert not all(store(mixed(ids, now="x", later="ay"), whole=True).values())
    assert (Message.objects.count(), ScheduledMessage.objects.count(), MessageKey.objects.count()) == (2, 2, 4)


def test_in_part_what_is_new_is_stored(ids: tuple[int, int]) -> None:
    store(mixed(ids, now="a", later="b"), whole=True)

    assert store(mixed(ids, now="bx", later="ay"), whole=False) == {0: False, 1: True, 2: False, 3: True}


def test_of_an_id_twice_the_first_counts_also_where_that_is_for_later(ids: tuple[int, int]) -> None:
    messages = {place: incoming(ids, name) for place, name in enumerate("aab")}

    assert store((messages, {0: AT}), whole=False) == {0: True, 1: False, 2: True}
    assert ScheduledMessage.objects.get().message_id == "a"


def test_ids_that_were_used_are_compared_by_payload(ids: tuple[int, int]) -> None:
    store(mixed(ids, now="ap", later="l"), whole=True)
    Message.objects.filter(message_id="p").delete()
    sent = [("a", b"x"), ("new", b"x"), ("l", b"x"), ("p", b"x"), ("l", b"other")]

    found = at_once(firsts, {place: incoming(ids, name, payload) for place, (name, payload) in enumerate(sent)})

    same, other = partial(First, same_payload=True), partial(First, same_payload=False)
    assert found == [
        {0: same(scheduled=False), 2: same(scheduled=True), 3: other(scheduled=False), 4: other(scheduled=True)}
    ]


def test_the_last_moment_that_can_be_asked_for_is_kept_as_it_is(ids: tuple[int, int]) -> None:
    last = 253_402_300_799_999_999

    at_once(store_later, [Later(incoming(ids, "m"), Times(asked=last, due=last))])

    assert ScheduledMessage.objects.get().due_at.isoformat() == "9999-12-31T23:59:59.999999+00:00"
