"""Storing a group of messages, in the real database."""

import asyncio
from collections.abc import Sequence

import pytest
from django.db import connection
from psycopg import AsyncConnection

from channels_app.delivery.accept import Incoming, new_message_ids, store
from channels_app.models import Message, MessageKey
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ids() -> tuple[int, int]:
    return make_channel().pk, make_producer().pk


def incoming(ids: tuple[int, int], message_id: str, payload: bytes = b"x") -> Incoming:
    return Incoming(*ids, message_id, payload, "text/plain", 0, {"X-Trace": "1"})


def stored(*groups: Sequence[Incoming]) -> list[list[bool]]:
    """Stores the groups at the same time, each on a connection of its own."""

    async def one(group: Sequence[Incoming]) -> list[bool]:
        parameters = connection.get_connection_params()
        address = {"dbname": parameters["dbname"], "user": parameters["user"], "host": parameters["host"]}
        async with await AsyncConnection.connect(**address, autocommit=True) as own:
            return await store(own, group)

    async def all_of_them() -> list[list[bool]]:
        return list(await asyncio.gather(*map(one, groups)))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("number", [0, 1, 2, 300])
def test_there_are_as_many_new_ids_as_are_wanted(number: int) -> None:
    made = new_message_ids(number)
    assert len(made) == len(set(made)) == number
    assert all(len(one) == 32 for one in made)


def test_of_two_equal_ids_in_a_group_the_first_wins(ids: tuple[int, int]) -> None:
    group = [incoming(ids, "a", b"first"), incoming(ids, "b"), incoming(ids, "a", b"second")]

    assert stored(group) == [[True, True, False]]
    assert bytes(Message.objects.get(message_id="a").payload) == b"first"


def test_an_id_is_taken_for_good(ids: tuple[int, int]) -> None:
    stored([incoming(ids, "a")])

    assert stored([incoming(ids, "a"), incoming(ids, "b")]) == [[False, True]]
    assert MessageKey.objects.count() == Message.objects.count() == 2


def test_rows_keep_the_order_of_arrival_and_every_byte(ids: tuple[int, int]) -> None:
    payload = bytes(range(256))

    stored([incoming(ids, name, payload) for name in ("z", "a", "m")])

    assert list(Message.objects.order_by("pk").values_list("message_id", flat=True)) == ["z", "a", "m"]
    assert {bytes(message.payload) for message in Message.objects.all()} == {payload}


def test_groups_with_the_same_ids_in_another_order_do_not_deadlock(ids: tuple[int, int]) -> None:
    names = [f"m{number}" for number in range(300)]

    for turn in range(5):
        there = [incoming(ids, f"{turn}-{name}") for name in names]
        outcomes = stored(there, there[::-1])

        assert sum(map(sum, outcomes)) == len(names)
