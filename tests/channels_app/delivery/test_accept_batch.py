"""Storing a batch in one transaction, in the real database."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.db import connection
from psycopg import AsyncConnection

from channels_app.delivery.accept import Incoming
from channels_app.delivery.accept_batch import store_new
from channels_app.models import Message, MessageKey
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ids() -> tuple[int, int]:
    return make_channel().pk, make_producer().pk


def incoming(ids: tuple[int, int], message_id: str, payload: bytes = b"x", **more: Any) -> Incoming:
    fields = {"content_type": "text/plain", "priority": 0, "headers": {}, **more}
    return Incoming(*ids, message_id, payload, **fields)


def at_once(step: Callable[[AsyncConnection, Any], Awaitable[Any]], *batches: Any) -> list[Any]:
    """Takes the step with each of them at the same time, each on a connection of its own."""

    async def one(batch: Any) -> Any:
        parameters = connection.get_connection_params()
        address = {"dbname": parameters["dbname"], "user": parameters["user"], "host": parameters["host"]}
        async with await AsyncConnection.connect(**address, autocommit=True) as own:
            return await step(own, batch)

    async def all_of_them() -> list[Any]:
        return list(await asyncio.gather(*map(one, batches)))

    return asyncio.run(all_of_them())


def names() -> list[str]:
    return list(Message.objects.order_by("pk").values_list("message_id", flat=True))


def test_every_value_comes_back_as_it_was(ids: tuple[int, int]) -> None:
    payload = bytes(range(256)) * 3000
    message = incoming(
        ids, "m", payload, content_type="text/plain; x=ü", priority=-(2**31), headers={"X-A": "caf\xe9", "x": '"\\'}
    )

    assert at_once(store_new, [message, incoming(ids, "n")]) == [[True, True]]

    row = Message.objects.get(message_id="m")
    assert (
        bytes(row.payload),
        row.content_type,
        row.priority,
        row.headers,
        row.partition,
        row.ttl_seconds or 0,
    ) == message[3:]
    assert (row.channel_id, row.producer_id, row.status_name) == (*ids, "ACKNOWLEDGED")
    assert row.received_at is not None


def test_rows_keep_the_order_of_the_batch_over_many_pieces(ids: tuple[int, int]) -> None:
    order = [f"m{number * 7919 % 1000}" for number in range(1000)]

    at_once(store_new, [incoming(ids, name, b"x" * 1000) for name in order])

    assert names() == order


def test_what_is_new_is_stored_and_the_first_of_two_wins(ids: tuple[int, int]) -> None:
    at_once(store_new, [incoming(ids, "b")])
    again = [incoming(ids, "b"), incoming(ids, "a", b"first"), incoming(ids, "a", b"second")]

    assert at_once(
        store_new,
        again,
    ) == [[False, True, False]]
    assert bytes(Message.objects.get(message_id="a").payload) == b"first"
    assert at_once(store_new, again) == [[False, False, False]]


def test_batches_with_the_same_ids_in_another_order_do_not_deadlock(ids: tuple[int, int]) -> None:
    for turn in range(5):
        there = [incoming(ids, f"{turn}-{number}") for number in range(2000)]

        outcomes = at_once(store_new, there, there[::-1])

        assert sum(map(all, outcomes)) == 1
    assert Message.objects.count() == MessageKey.objects.count() == 10_000
