"""The batch door: POST /channel/{c}/broadcast/batch, many messages in one request and one transaction."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

import psycopg
import structlog
from django.conf import settings
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.frame import Request, Route
from broker_project.api.group_commit import DoorFull, OutcomeUnknown, RowRefused
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming
from channels_app.delivery.accept_batch import store_all, store_new
from channels_app.doorbell import ring_fan_out
from scheduling_app.api import batch_reply
from scheduling_app.api.admission import admit
from scheduling_app.api.batch import Batch, read_batch
from scheduling_app.api.duplicates import used
from scheduling_app.api.headers import Headers
from scheduling_app.api.items import reader_for
from scheduling_app.api.room import Room

log = structlog.get_logger(__name__)

PATH = re.compile(r"/channel/([^/]+)/broadcast/batch")
Store = Callable[[AsyncConnection, Sequence[Incoming]], Awaitable[list[bool]]]

TRIES = 3
# The rest of the door's connections is for single messages.
_writers = asyncio.Semaphore(2)
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
    await admit(_channel_id(request), Headers.of(request.headers))
    with _room.hold(min(size, settings.MAX_BATCH_BYTES)):
        yield


async def broadcast_batch(request: Request) -> Reply:
    """Stores all or nothing; with partial=true, what can be stored."""
    headers = Headers.of(request.headers)
    channel, producer = await admit(_channel_id(request), headers)
    partial = _partial(request.query)
    items = reader_for(headers.one("Content-Type") or "")(request.body)
    with _room.hold(len(request.body)):
        batch = await read_batch(items, channel, producer)
        address = f"/channel/{_channel_id(request)}/message/"
        return await (_store_some if partial else _store_whole)(batch, address)


async def _store_whole(batch: Batch, address: str) -> Reply:
    if batch.refused:
        return batch_reply.invalid(batch)
    repeated = batch.repeated()
    if repeated or not all(await _stored(store_all, batch)):
        return batch_reply.duplicates(repeated, await used(batch.messages), len(batch))
    ring_fan_out()
    return batch_reply.stored(batch, address)


async def _store_some(batch: Batch, address: str) -> Reply:
    outcomes = await _stored(store_new, batch)
    if any(outcomes):
        ring_fan_out()
    pairs = zip(batch.messages.items(), outcomes, strict=True)
    others = {place: message for (place, message), is_new in pairs if not is_new}
    same = await used(others) if others else {}
    return batch_reply.one_by_one(batch, address, {place: same.get(place, False) for place in others})


async def _stored(store: Store, batch: Batch) -> list[bool]:
    """Whether each message was new, in one transaction; a transaction that lost against another is tried again."""
    messages = list(batch.messages.values())
    if not messages:
        return []
    for _ in range(TRIES):
        try:
            async with _writers, door_pool().connection() as connection:
                return await store(connection, messages)
        except PoolTimeout as error:
            raise DoorFull from error
        except psycopg.Error as error:
            _unless_in_the_way(error, len(messages))
    raise DoorFull


def _unless_in_the_way(error: psycopg.Error, items: int) -> None:
    """Returns if it was another transaction that was in the way; anything else is a refusal."""
    kind = (error.sqlstate or "")[:2]
    if kind == "40":
        return
    if kind in ("22", "23"):
        raise RowRefused from error
    log.error("batch.failed", error=type(error).__name__, items=items)
    raise OutcomeUnknown from error


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
