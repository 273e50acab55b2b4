"""Publishing one event: the component, the topic's channel, the envelope, then the doors' own way of storing."""

import asyncio
from collections.abc import Mapping

from channels_app.delivery.accept import new_message_ids
from scheduling_app.dapr.caller import Caller, storing
from scheduling_app.dapr.cloudevents import Trace
from scheduling_app.dapr.components import channel_at_hand, channel_of, pubsub_at_hand, pubsub_named
from scheduling_app.dapr.event import Event, arrived, read
from scheduling_app.dapr.listings import refuse_listing
from scheduling_app.dapr.topics import channel_id_of
from scheduling_app.door import limits

_NO_METADATA: Mapping[str, str] = {}


async def publish(
    caller: Caller,
    *,
    pubsub: str,
    topic: str,
    data: bytes,
    content_type: str,
    metadata: Mapping[str, str],
    trace: Trace,
) -> None:
    """Stored, for now or for later, when this returns."""
    component = await pubsub_named(pubsub)
    channel_id = channel_id_of(topic)
    # Before its topic is made: a bad request changes nothing.
    ready = read(caller, Event(component, topic, data, content_type, metadata, trace.continued()))
    await refuse_listing(caller, topic, channel_id)
    channel = await channel_of(caller, channel_id, component)
    if limits.are_set(channel, caller.producer):
        await limits.check(channel, caller.producer, 1)
    await arrived(await storing(caller), channel, ready, new_message_ids(1)[0]).put()


def put_at_hand(
    caller: Caller, *, pubsub: str, topic: str, data: bytes, content_type: str, trace: Trace
) -> asyncio.Future[bool] | None:
    """The same without metadata, of what this process knows; None if it would have to ask somebody."""
    component, channel = pubsub_at_hand(pubsub), channel_at_hand(caller, channel_id_of(topic))
    if component is None or channel is None or not caller.has_stored or limits.are_set(channel, caller.producer):
        return None
    ready = read(caller, Event(component, topic, data, content_type, _NO_METADATA, trace.continued()))
    return arrived(caller, channel, ready, new_message_ids(1)[0]).put()
