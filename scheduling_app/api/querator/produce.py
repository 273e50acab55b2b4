"""POST /v1/queue.produce: items for now and for later, all or nothing, all in one partition."""

import asyncio
import time
from typing import Any, NamedTuple

from broker_project.api.door_write import written
from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from channels_app import services
from channels_app.delivery.accept import Incoming
from channels_app.delivery.fanout import MOST_JOBS, FannedOut
from channels_app.doorbell import ring_fan_out, ring_work
from channels_app.known import known
from channels_app.registry import Entry, registry
from scheduling_app.accept import Later, Times
from scheduling_app.api.querator import items, shapes
from scheduling_app.api.querator.door import Found, done, find, in_a_thread, read
from scheduling_app.api.querator.items import ITEM
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.api.querator.timeouts import request_timeout
from scheduling_app.api.room import Room
from scheduling_app.bells import ring_for
from scheduling_app.door import limits
from scheduling_app.door.loads import least_loaded
from scheduling_app.errors import DelayedMessagingDisabled
from scheduling_app.querator import producing, queues
from scheduling_app.querator.errors import InvalidOption, TookTooLong

MOST_ITEMS = 1_000
MOST_BYTES = 5_000_000
# Items and words hold brackets too, but not so many: more of them would stop the event loop, and fill the memory.
MOST_BRACKETS = 100 * MOST_ITEMS
SHAPE = Shape(queue_name=shapes.text, request_timeout=shapes.text, items=shapes.several(ITEM.read))
_room = Room(8 * MOST_BYTES)


async def produce(request: Request) -> Reply:
    if request.body.count(b"{") + request.body.count(b"[") > MOST_BRACKETS:
        raise InvalidOption(f"items is invalid; at most {MOST_ITEMS} go into one request")
    with _room.hold(len(request.body)):
        return await _produce(request)


async def _produce(request: Request) -> Reply:
    asked = read(request, SHAPE)
    queue, seconds, listed = await find(asked), request_timeout(asked), _items(asked)
    producer = await _producer()
    if limits.are_set(queue.channel, producer):
        await limits.check(queue.channel, producer, len(listed))
    batch = _batch(queue, producer, listed)
    try:
        async with asyncio.timeout(seconds):
            fanned = await written(lambda connection: producing.produce(connection, batch.messages, batch.times))
    except TimeoutError:
        raise TookTooLong from None
    _ring(batch, fanned)
    return done()


class _Batch(NamedTuple):
    """By place; those with times are for later."""

    messages: dict[int, Incoming]
    times: dict[int, Times]


def _items(asked: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = asked.get("items", [])
    if not listed:
        raise InvalidOption("items cannot be empty; at least one item is required")
    if len(listed) > MOST_ITEMS:
        raise InvalidOption(f"items is invalid; at most {MOST_ITEMS} go into one request but received {len(listed)}")
    return listed


def _batch(queue: Found, producer: Entry, listed: list[dict[str, Any]]) -> _Batch:
    times = items.times_for(listed, time.time())
    if times and not queue.channel.delayed_messaging:
        raise DelayedMessagingDisabled
    ids = {"channel_id": queue.channel.row_id, "producer_id": producer.row_id}
    return _Batch(items.incoming(listed, **ids, partition=least_loaded(queue.channel)), times)


def _ring(batch: _Batch, fanned: FannedOut) -> None:
    ring_work(fanned.work)
    if fanned.messages >= MOST_JOBS:
        # Others waited before these, and there may be more of them.
        ring_fan_out()
    ring_for(Later(batch.messages[place], times) for place, times in batch.times.items())


async def _producer() -> Entry:
    """Made with the first queue; made again if somebody took it away."""
    while (found := await known("producer", queues.PRODUCER)) is None:
        await in_a_thread(_make_producer)
    return found


def _make_producer() -> None:
    services.ensure_producer(queues.PRODUCER)
    registry().refresh()
