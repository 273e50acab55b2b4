"""The batch door: POST /channel/{c}/broadcast/batch, many messages in one request and one transaction."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from django.conf import settings

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.doorbell import ring_fan_out
from scheduling_app.accept import Later
from scheduling_app.api import batch_reply
from scheduling_app.api.admission import admit
from scheduling_app.api.batch import Batch, read_batch
from scheduling_app.api.batch_store import stored
from scheduling_app.api.duplicates import NOBODY, used
from scheduling_app.api.headers import Headers
from scheduling_app.api.items import reader_for
from scheduling_app.api.room import Room
from scheduling_app.bells import ring_for
from scheduling_app.door import limits

PATH = re.compile(r"/channel/([^/]+)/broadcast/batch")
# A batch counts twice, as bytes and as messages: two of the largest at once.
room = Room(4 * settings.MAX_BATCH_BYTES)


class InvalidPartial(BrokerError):
    """partial is true or false."""


@asynccontextmanager
async def gate(request: Request) -> AsyncIterator[None]:
    """Nobody's large body is read but a producer's, and none for which there is no room."""
    size = announced(request)
    if size <= settings.MAX_PAYLOAD_BYTES:
        yield
        return
    await admit(_channel_id(request), Headers.of(request.headers), request)
    with room.hold(min(size, settings.MAX_BATCH_BYTES)):
        yield


async def broadcast_batch(request: Request) -> Reply:
    """Stores all or nothing; with partial=true, what can be stored."""
    headers, channel_id = Headers.of(request.headers), _channel_id(request)
    channel, producer = await admit(channel_id, headers, request)
    store = _store_some if _partial(request.query) else _store_whole
    items = reader_for(headers.one("Content-Type") or "")(request.body)
    with room.hold(len(request.body)):
        batch = await read_batch(items, channel, producer)
        return await store(batch, channel_id)


async def _store_whole(batch: Batch, channel_id: str) -> Reply:
    if batch.refused:
        return batch_reply.invalid(batch)
    repeated = batch.repeated()
    if repeated or await _limited_but_used(batch) or not all((await stored(batch, whole=True)).values()):
        return batch_reply.duplicates(repeated, await used(batch.messages), len(batch))
    _ring(batch, batch.messages)
    return batch_reply.stored(batch, channel_id)


async def _limited_but_used(batch: Batch) -> bool:
    """A limit refuses, unless an id was used before: who sends a batch again wants to know that it was heard."""
    try:
        await _check_limits(batch)
    except limits.Limited:
        if not await used(batch.messages):
            raise
        return True
    return False


async def _store_some(batch: Batch, channel_id: str) -> Reply:
    await _check_limits(batch)
    outcomes = await stored(batch, whole=False)
    _ring(batch, [place for place, is_new in outcomes.items() if is_new])
    others = {place: batch.messages[place] for place, is_new in outcomes.items() if not is_new}
    firsts = await used(others)
    return batch_reply.one_by_one(batch, channel_id, {place: firsts.get(place, NOBODY) for place in others})


def _ring(batch: Batch, places: Iterable[int]) -> None:
    stored = set(places)
    if stored - batch.times.keys():
        ring_fan_out()
    ring_for(Later(batch.messages[place], times) for place, times in batch.times.items() if place in stored)


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


def announced(request: Request) -> int:
    """Without a length it may become as large as any."""
    lengths = (int(value) for name, value in request.headers if name == b"content-length")
    return next(lengths, settings.MAX_BATCH_BYTES)


ROUTES = (Route(PATH, ("POST",), broadcast_batch, max_bytes=settings.MAX_BATCH_BYTES, quiet=True, gate=gate),)
