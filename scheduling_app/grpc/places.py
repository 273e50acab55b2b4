"""Where a subscription gets its events: the topic's channel, and the consumer that the application is there."""

from contextlib import suppress
from typing import NamedTuple

from channels_app import services
from channels_app.errors import ConsumerExists, UnknownChannel, UnknownConsumer
from channels_app.known import in_thread, known_consumer
from channels_app.models import Channel, Consumer
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.registry import Entry, registry
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.components import channel_of, pubsub_named
from scheduling_app.dapr.errors import DaprError
from scheduling_app.dapr.listings import refuse_listing
from scheduling_app.dapr.topics import channel_id_of


class NotSubscribable(DaprError):
    """The consumer with this app id is pushed to, or polls by index: it cannot subscribe by a stream."""

    status = 412
    error_code = "ERR_PUBSUB_SUBSCRIBE"
    reason = "DAPR_PUBSUB_SUBSCRIBE"
    grpc_code = "FAILED_PRECONDITION"


class Place(NamedTuple):
    app_id: str
    pubsub: str
    topic: str
    channel: Entry
    consumer: Entry


async def place_of(caller: Caller, *, pubsub: str, topic: str) -> Place:
    """Made when missing."""
    component, channel_id = await pubsub_named(pubsub), channel_id_of(topic)
    await refuse_listing(caller, topic, channel_id)
    channel = await channel_of(caller, channel_id, component)
    consumer = await known_consumer(channel.row_id, caller.app_id)
    if consumer is None:
        consumer = await in_thread(lambda: _made(channel.row_id, caller.app_id))
    return Place(caller.app_id, pubsub, topic, channel, _leasing(consumer))


async def check_still_there(place: Place) -> None:
    """A consumer that was deleted meanwhile stays so, until somebody subscribes anew."""
    consumer = await known_consumer(place.channel.row_id, place.app_id)
    if consumer is None or consumer.row_id != place.consumer.row_id:
        raise UnknownConsumer
    _leasing(consumer)


def _leasing(consumer: Entry) -> Entry:
    """One that is pushed to, or polls by index, gets its jobs elsewhere."""
    if consumer.mode != PullMode.LEASE:
        raise NotSubscribable
    return consumer


def _made(channel_id: int, app_id: str) -> Entry:
    """By one of those who look at the same time."""
    channel = Channel.objects.live().filter(pk=channel_id).first()
    if channel is None:
        raise UnknownChannel
    with suppress(ConsumerExists):
        services.create(Consumer(channel=channel, public_id=app_id), values={"type": ConsumerType.PULL})
    # That there was none is remembered, until the version is seen to have moved.
    registry().refresh()
    entry = registry().consumer(channel_id, app_id)
    if entry is None:
        raise UnknownConsumer
    return entry
