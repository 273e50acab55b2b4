"""POST /v1/subscribe/poll and /v1/subscribe/message/ack."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from psycopg import AsyncConnection

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from channels_app.api.pull.fields import Field, Shape
from channels_app.api.pull.turns import in_turn
from channels_app.api.queue import fields
from channels_app.api.queue.door import DOCUMENT_BYTES, admit, answer, document, refused
from channels_app.api.queue.errors import NotRegistered
from channels_app.api.queue.finding import Subscriber, subscriber_named
from channels_app.api.queue.messages import item_shown
from channels_app.errors import UnknownConsumer
from channels_app.known import in_thread
from channels_app.pull.index import ack as acking
from channels_app.pull.index import poll as polling
from channels_app.pull.index.again import messages_again
from channels_app.pull.index.places import Place
from channels_app.pull.index.poll import Polled
from channels_app.registry import registry

Result = TypeVar("Result")
POLL, ACK = re.compile("/v1/subscribe/poll"), re.compile("/v1/subscribe/message/ack")
_ASKED = Shape(
    Field("subscriber_id", "subscriber_id", fields.name, needed=True),
    Field("queue_name", "queue_name", fields.name),
    Field("message_id", "start", fields.index),
    Field("fetch_count", "limit", fields.fetch_count),
)
_DONE = Shape(
    Field("subscriber_id", "subscriber_id", fields.name, needed=True),
    Field("queue_name", "queue_name", fields.name),
    Field("message_id", "index", fields.message_index, needed=True),
)


async def poll(request: Request) -> Reply:
    """The messages after `message_id`; those that were handed out before again, if it asks for them only."""
    await admit(request)
    asked = _ASKED.of(document(request))
    start, limit = asked.get("start"), asked.get("limit", fields.DEFAULT_MESSAGES)

    async def act(subscriber: Subscriber) -> Polled:
        async with in_turn(subscriber.row_id) as connection:
            return await _polled(connection, subscriber, start, limit)

    subscriber, polled = await _acted(asked, act)
    # Many megabytes of messages are looked through: not in the event loop, where publishers wait.
    return Reply(200, await asyncio.to_thread(_shown, polled, subscriber.queue_name))


async def ack(request: Request) -> Reply:
    """This message is done."""
    await admit(request)
    asked = _DONE.of(document(request))

    async def act(subscriber: Subscriber) -> acking.Acked:
        return await acking.ack(lambda: in_turn(subscriber.row_id), subscriber.row_id, asked["index"])

    subscriber, acked = await _acted(asked, act)
    told = {"message_id": asked["index"], "queue_name": subscriber.queue_name, "subscriber_id": asked["subscriber_id"]}
    return answer({**told, **_indexes(acked.place)})


async def _acted(asked: dict[str, Any], act: Callable[[Subscriber], Awaitable[Result]]) -> tuple[Subscriber, Result]:
    """One that is gone since this process looked may have been registered again, by another process."""
    try:
        return await _acted_once(asked, act)
    except (UnknownConsumer, NotRegistered):
        await in_thread(registry().refresh)
    try:
        return await _acted_once(asked, act)
    except UnknownConsumer:
        raise NotRegistered from None


async def _acted_once(
    asked: dict[str, Any], act: Callable[[Subscriber], Awaitable[Result]]
) -> tuple[Subscriber, Result]:
    subscriber = await subscriber_named(asked["subscriber_id"], asked.get("queue_name"))
    return subscriber, await act(subscriber)


async def _polled(connection: AsyncConnection, subscriber: Subscriber, start: int | None, limit: int) -> Polled:
    """A retry is always allowed, also of one that is paused."""
    polled = await polling.poll(connection, subscriber.row_id, start=start, limit=limit)
    if polled.items or start is None or start + limit > polled.place.sent:
        return polled
    return replace(polled, items=await messages_again(connection, polled.place, after=start, until=start + limit))


def _shown(polled: Polled, queue_name: str) -> bytes:
    messages = b",".join(item_shown(item, queue_name) for item in polled.items)
    told = {**_indexes(polled.place), "last_index": polled.place.last, "reason": polled.reason}
    return b'{"messages":[%s],%s' % (messages, json.dumps(told, separators=(",", ":")).encode()[1:])


def _indexes(place: Place) -> dict[str, int]:
    return {"acked_index": place.acked, "sent_index": place.sent}


ROUTES = (
    Route(POLL, ("POST",), poll, max_bytes=DOCUMENT_BYTES, refusal=refused),
    Route(ACK, ("POST",), ack, max_bytes=DOCUMENT_BYTES, refusal=refused),
)
