"""Messages that were handed out, once more: as they are, and nothing moves."""

import pytest

from channels_app import services
from channels_app.models import DeliveryJob, Message
from channels_app.pull.index.again import messages_again
from channels_app.pull.index.places import look
from channels_app.pull.index.poll import Item
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.pull.pollers import Poller, make_poller, publish

pytestmark = pytest.mark.django_db(transaction=True)


def again(poller: Poller, after: int, until: int) -> list[Item]:
    async def read(own: object) -> list[Item]:
        place = await look(own, poller.consumer.pk)  # type: ignore[arg-type]
        return await messages_again(own, place, after=after, until=until)  # type: ignore[arg-type]

    return on_a_loop(read)


def indexes(items: list[Item]) -> list[int]:
    return [item.index for item in items]


def test_a_range_comes_again_up_to_what_was_sent_and_nothing_moves() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 8)
    poller.poll(limit=6)
    poller.ack(2)
    before = poller.indexes, poller.statuses()

    assert indexes(again(poller, 1, 4)) == [2, 3, 4]
    assert indexes(again(poller, 4, 99)) == [5, 6]
    assert indexes(again(poller, 6, 8)) == []
    assert (poller.indexes, poller.statuses()) == before


def test_what_is_dead_or_was_expunged_is_passed_over() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 4)
    poller.poll()
    services.expunge(message=Message.objects.get(sequence=2), by="tests")
    DeliveryJob.objects.filter(message__sequence=3).update(status=1004, reason="nacked")

    assert indexes(again(poller, 0, 4)) == [1, 4]


def test_a_range_ends_with_the_message_that_reaches_eight_mebibytes() -> None:
    poller = make_poller()
    publish(poller.consumer.channel, 6, payload=b"x" * (3 * 1024 * 1024))
    poller.poll(limit=3)
    poller.poll(limit=3)

    assert indexes(again(poller, 0, 6)) == [1, 2, 3]
