"""Stored and fanned out at once: the index is known when it is committed, in the real database."""

import asyncio
from collections.abc import Sequence

import pytest
from django.db import connection
from psycopg import AsyncConnection

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.delivery.accept_now import Placed, store_and_fan_out
from channels_app.models import Channel, ChannelState, DeliveryJob, Message, MessageKey
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.pull.pollers import make_poller
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db(transaction=True)


def incoming(channel: Channel, producer_id: int, payload: bytes = b"1") -> Incoming:
    return Incoming(channel.pk, producer_id, new_message_ids(1)[0], payload, "application/json", 0, {})


def placed(messages: Sequence[Incoming]) -> Placed:
    return on_a_loop(lambda own: store_and_fan_out(own, messages))


def test_each_message_has_the_next_index_a_key_and_a_job_for_each_consumer() -> None:
    channel, producer = make_channel(), make_producer()
    consumers = {make_consumer(channel, name).pk for name in ("a", "b")}

    found = placed([incoming(channel, producer.pk, payload) for payload in (b"1", b"2", b"3")])

    assert found.indexes == [1, 2, 3]
    assert found.work.push == consumers
    rows = Message.objects.order_by("sequence").values_list("sequence", "payload", "status", "dispatched_at")
    assert [(sequence, bytes(payload), status) for sequence, payload, status, _ in rows] == [
        (1, b"1", 101),
        (2, b"2", 101),
        (3, b"3", 101),
    ]
    assert DeliveryJob.objects.count() == 6
    assert MessageKey.objects.count() == 3


def test_indexes_go_on_after_what_was_fanned_out_and_before_what_comes_later() -> None:
    channel, producer = make_channel(), make_producer()
    make_messages(channel, "first")
    dispatch(channel)
    make_messages(channel, "waits")

    assert placed([incoming(channel, producer.pk)]).indexes == [2]
    dispatch(channel)
    assert Message.objects.get(message_id="waits").sequence == 3


def test_messages_of_many_channels_are_told_apart_and_keep_their_order() -> None:
    channels, producer = [make_channel(name) for name in ("a", "b")], make_producer()

    found = placed([incoming(channels[place], producer.pk) for place in (1, 0, 1, 1, 0)])

    assert found.indexes == [1, 1, 2, 3, 2]


def test_a_channel_that_is_gone_gets_nothing_and_the_others_their_own() -> None:
    gone, channel, producer = make_channel("gone"), make_channel("there"), make_producer()
    services.delete(gone, condition=Condition(etags=frozenset({gone.etag})))

    assert placed([incoming(gone, producer.pk), incoming(channel, producer.pk)]).indexes == [None, 1]
    assert Message.objects.filter(channel=gone).count() == MessageKey.objects.filter(channel_id=gone.pk).count() == 0
    assert ChannelState.objects.get(pk=gone.pk).last_sequence == 0


def test_those_who_ask_are_told_apart_from_those_who_want_to_be_told() -> None:
    channel, producer = make_channel(token="open"), make_producer()
    quiet = make_poller(channel, "quiet").consumer.pk
    told = make_poller(channel, "told", callback_url="http://127.0.0.1:9/").consumer.pk

    work = placed([incoming(channel, producer.pk)]).work

    assert (set(work.pull), set(work.told)) == ({quiet, told}, {told})


def test_many_at_once_have_indexes_without_a_gap_or_a_double() -> None:
    channels, producer = [make_channel(name) for name in ("a", "b", "c")], make_producer()

    async def one(first: int) -> list[int | None]:
        parameters = connection.get_connection_params()
        address = {"dbname": parameters["dbname"], "user": parameters["user"], "host": parameters["host"]}
        async with await AsyncConnection.connect(**address, autocommit=True) as own:
            order = [channels[(first + step) % 3] for step in range(30)]
            return (await store_and_fan_out(own, [incoming(channel, producer.pk) for channel in order])).indexes

    async def all_of_them() -> None:
        await asyncio.gather(*(one(first) for first in range(6)))

    asyncio.run(all_of_them())

    for channel in channels:
        found = Message.objects.filter(channel=channel).order_by("sequence").values_list("sequence", flat=True)
        assert list(found) == list(range(1, 61))
