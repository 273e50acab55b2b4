"""The batch door: POST /channel/{c}/broadcast/batch, many messages in one request and one transaction."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from django.conf import settings

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept_batch import store_all, store_new
from channels_app.doorbell import ring_fan_out
from scheduling_app.api import batch_reply, limits
from scheduling_app.api.admission import admit
from scheduling_app.api.batch import Batch, read_batch
from scheduling_app.api.batch_store import stored
from scheduling_app.api.duplicates import used
from scheduling_app.api.headers import Headers
from scheduling_app.api.items import reader_for
from scheduling_app.api.room import Room

PATH = re.compile(r"/channel/([^/]+)/broadcast/batch")
# A batch counts twice, as bytes and as messages: two of the largest at once.
_room = Room(4 * settings.MAX_BATCH_BYTES)


class InvalidPartial(BrokerError):
    """partial is true or false."""


@asynccontextmanager
async def gate(request: Request) -> AsyncIterator[None]:
    """Nobody's large body is read but a producer's, and none for which there is no room."""
    size = _announced(request)
    if size <= settings.MAX_PAYLOAD_BYTES:
        yield
        return
    await admit(_channel_id(request), Headers.of(request.headers), request)
    with _room.hold(min(size, settings.MAX_BATCH_BYTES)):
        yield


async def broadcast_batch(request: Request) -> Reply:
    """Stores all or nothing; with partial=true, what can be stored."""
    headers, channel_id = Headers.of(request.headers), _channel_id(request)
    channel, producer = await admit(channel_id, headers, request)
    store = _store_some if _partial(request.query) else _store_whole
    items = reader_for(headers.one("Content-Type") or "")(request.body)
    with _room.hold(len(request.body)):
        batch = await read_batch(items, channel, producer)
        return await store(batch, f"/channel/{channel_id}/message/")


async def _store_whole(batch: Batch, address: str) -> Reply:
    if batch.refused:
        return batch_reply.invalid(batch)
    repeated = batch.repeated()
    if repeated or await _limited_but_used(batch) or not all(await stored(store_all, [*batch.messages.values()])):
        return batch_reply.duplicates(repeated, await used(batch.messages), len(batch))
    ring_fan_out()
    return batch_reply.stored(batch, address)


async def _limited_but_used(batch: Batch) -> bool:
    """A limit refuses, unless an id was used before: who sends a batch again wants to know that it was heard."""
    try:
        await _check_limits(batch)
    except limits.Limited:
        if not await used(batch.messages):
            raise
        return True
    return False


async def _store_some(batch: Batch, address: str) -> Reply:
    await _check_limits(batch)
    outcomes = await stored(store_new, [*batch.messages.values()])
    if any(outcomes):
        ring_fan_out()
    pairs = zip(batch.messages.items(), outcomes, strict=True)
    others = {place: message for (place, message), is_new in pairs if not is_new}
    same = await used(others) if others else {}
    return batch_reply.one_by_one(batch, address, {place: same.get(place, False) for place in others})


async def _check_limits(batch: Batch) -> None:
    if batch.messages and limits.are_set(batch.channel, batch.producer):
        await limits.check(batch.channel, batch.producer, len(batch.messages))


def _channel_id(request: Request) -> str:
    return PATH.fullmatch(request.path)[1]  # type: ignore[index]


def _partial(query: bytes) -> bool:
    words = parse_qs(query.decode("latin1"), keep_blank_values=True).get("partial", ["false"])
    if words not in (["true"], ["false"]):
        raise InvalidPartial
    return words == ["true"]


def _announced(request: Request) -> int:
    """Without a length it may become as large as any."""
    lengths = (int(value) for name, value in request.headers if name == b"content-length")
    return next(lengths, settings.MAX_BATCH_BYTES)


ROUTES = (Route(PATH, ("POST",), broadcast_batch, max_bytes=settings.MAX_BATCH_BYTES, quiet=True, gate=gate),)
