"""SubscribeTopicEventsAlpha1: a stream that an application opens, gets events by, and answers for each of them."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import grpc
import structlog
from dapr.proto.runtime.v1.appcallback_pb2 import TopicEventRequest
from dapr.proto.runtime.v1.pubsub_pb2 import (
    SubscribeTopicEventsRequestInitialAlpha1,
    SubscribeTopicEventsResponseAlpha1,
    SubscribeTopicEventsResponseInitialAlpha1,
)

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.errors import DaprError
from scheduling_app.dapr.metadata import wants_raw
from scheduling_app.grpc.interceptors import admitted, caller
from scheduling_app.grpc.peer import peer_of
from scheduling_app.grpc.places import check_still_there, place_of
from scheduling_app.grpc.subscriber import Subscriber

log = structlog.get_logger(__name__)

# So long a stream may hold its place without saying what it is for.
INITIAL_SECONDS = 30.0
# So long a subscriber may still answer for what it has when the server stops.
DRAIN_SECONDS = 5.0
_OPENED = SubscribeTopicEventsResponseAlpha1(initial_response=SubscribeTopicEventsResponseInitialAlpha1())


class NoInitialRequest(DaprError):
    """A subscription begins with its initial request, which names the pubsub and the topic."""


class SecondInitialRequest(DaprError):
    """A stream is one subscription: open another for another topic."""


class Stopping(BrokerError):
    """This server is stopping. Subscribe again: what was not answered for comes anew."""

    status = 503


class Subscriptions(NamedTuple):
    """`stopping` is set when the server has been asked to stop."""

    stopping: asyncio.Event

    async def subscribe(self, _requests: Any, context: grpc.aio.ServicerContext) -> None:
        asked = await _initial(context)
        is_raw = wants_raw(asked.metadata)
        place = await place_of(caller(), pubsub=asked.pubsub_name, topic=asked.topic)
        subscriber = Subscriber(place, peer=peer_of(context.peer()), is_raw=is_raw)
        await context.write(_OPENED)
        log.info("subscription.opened", pubsub=place.pubsub, topic=place.topic, consumer=place.app_id)
        try:
            await self._attend(subscriber, context)
        except BrokerError:
            raise
        except BaseException:
            # The client has gone in the middle of it, or its connection has.
            subscriber.blame()
            raise
        finally:
            await subscriber.end()
            log.info("subscription.ended", pubsub=place.pubsub, topic=place.topic, consumer=place.app_id)

    async def _attend(self, subscriber: Subscriber, context: grpc.aio.ServicerContext) -> None:
        """Until the client closes its side, something refuses to go on, or the server stops."""

        async def send(event: TopicEventRequest) -> None:
            await context.write(SubscribeTopicEventsResponseAlpha1(event_message=event))

        async def check() -> None:
            # A token that was changed since opens nothing any more.
            await admitted(context.invocation_metadata())
            await check_still_there(subscriber.place)

        listening = asyncio.create_task(_listen(subscriber, context))
        feeding = asyncio.create_task(subscriber.feed(send, check))
        ending = asyncio.create_task(self.stopping.wait())
        tasks = [listening, feeding, ending, asyncio.create_task(subscriber.keep())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                feeding.cancel()
                await _drain(subscriber, listening)
                raise Stopping
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            await _cancel(tasks)


async def _initial(context: grpc.aio.ServicerContext) -> SubscribeTopicEventsRequestInitialAlpha1:
    try:
        async with asyncio.timeout(INITIAL_SECONDS):
            first = await context.read()
    except TimeoutError:
        raise NoInitialRequest from None
    if first is grpc.aio.EOF or not first.HasField("initial_request"):
        raise NoInitialRequest
    return first.initial_request


async def _listen(subscriber: Subscriber, context: grpc.aio.ServicerContext) -> None:
    """Until the client has closed its side."""
    while (said := await context.read()) is not grpc.aio.EOF:
        if said.HasField("initial_request"):
            raise SecondInitialRequest
        if said.HasField("event_processed"):
            subscriber.answer(said.event_processed)


async def _drain(subscriber: Subscriber, listening: asyncio.Task[None]) -> None:
    """Its last answers are waited for, as long as it is there to give them."""
    answered = asyncio.create_task(subscriber.held.is_empty.wait())
    await asyncio.wait([answered, listening], timeout=DRAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    await _cancel([answered])


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    several = list(tasks)
    for task in several:
        task.cancel()
    await asyncio.gather(*several, return_exceptions=True)
