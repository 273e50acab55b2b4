"""The broadcast door: POST /channel/{c}/broadcast, answered by the frame, committed in groups."""

import re

from django.conf import settings

from broker_project.api.express import Pending, Plain
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.registry import Entry
from scheduling_app.accept import Later
from scheduling_app.api.admission import admit, admit_at_hand
from scheduling_app.api.duplicates import NOBODY, DuplicateMessage, used
from scheduling_app.api.headers import EmptyPayload, Headers
from scheduling_app.api.locations import location
from scheduling_app.api.replacing import replace, replaces
from scheduling_app.door import limits
from scheduling_app.door.commits import Arrived
from scheduling_app.door.later import times_for
from scheduling_app.door.loads import least_loaded

PATH = re.compile(r"/channel/([^/]+)/broadcast")


async def broadcast(request: Request) -> Reply:
    """Stores one message, for now or for later; 201 means that it has been committed."""
    channel_id = PATH.fullmatch(request.path)[1]  # type: ignore[index]
    headers = Headers.of(request.headers)
    channel, producer = await admit(channel_id, headers, request)
    if replaces(headers):
        return await _replaced(channel, producer, headers, request)
    arrived = _arrived(channel, producer, headers, request.body)
    if limits.are_set(channel, producer) and await _limited_but_used(channel, producer, arrived.message, headers):
        return await _duplicate(arrived.message, channel_id)
    if not await arrived.put():
        return await _duplicate(arrived.message, channel_id)
    return Reply(201, b"", headers=[(b"location", _location(arrived, channel_id))])


def plain(request: Plain) -> Pending | None:
    """The short way in: tokens are at hand and right, nothing is limited, the message is in order."""
    named = PATH.fullmatch(request.path)
    if named is None:
        return None
    headers = Headers.of(request.headers)
    try:
        if replaces(headers):
            return None
        opened = admit_at_hand(named[1], headers)
        if opened is None or limits.are_set(*opened):
            return None
        arrived = _arrived(*opened, headers, request.body)
        done = arrived.put()
    except BrokerError:
        # The long way says why, and paces who guesses.
        return None
    return Pending(done, _location(arrived, named[1]))


def _location(arrived: Arrived, channel_id: str) -> bytes:
    return location(channel_id, arrived.message.message_id, scheduled=arrived.times is not None).encode()


async def _replaced(channel: Entry, producer: Entry, headers: Headers, request: Request) -> Reply:
    channel_id = PATH.fullmatch(request.path)[1]  # type: ignore[index]
    arrived = _arrived(channel, producer, headers, request.body)
    message, times = arrived.message, arrived.times
    assert times is not None
    if limits.are_set(channel, producer) and await _limited_but_sent(channel, producer, message):
        return await _duplicate(message, channel_id)
    return await replace(Later(message, times), channel_id) or await _duplicate(message, channel_id)


async def _limited_but_sent(channel: Entry, producer: Entry, message: Incoming) -> bool:
    """A limit refuses, unless there is nothing left to replace: who goes on trying wants to know."""
    try:
        await limits.check(channel, producer, 1)
    except limits.Limited:
        first = (await used({0: message})).get(0)
        if first is None or first.scheduled:
            raise
        return True
    return False


async def _limited_but_used(channel: Entry, producer: Entry, message: Incoming, headers: Headers) -> bool:
    """A limit refuses, unless the id was used before: who sends it again wants to know that it was heard."""
    try:
        await limits.check(channel, producer, 1)
    except limits.Limited:
        if headers.message_id() is None or not await used({0: message}):
            raise
        return True
    return False


def _arrived(channel: Entry, producer: Entry, headers: Headers, body: bytes) -> Arrived:
    """The contract's checks of a message, in the contract's order."""
    asked = headers.one("X-Broker-Scheduled-For")
    times = None if asked is None else times_for(asked, channel)
    if not body:
        raise EmptyPayload
    message = Incoming(
        channel_id=channel.row_id,
        producer_id=producer.row_id,
        message_id=headers.message_id() or new_message_ids(1)[0],
        payload=body,
        content_type=headers.content_type(),
        priority=headers.priority(),
        headers=headers.metadata(),
        partition=least_loaded(channel),
    )
    return Arrived(message, times)


async def _duplicate(message: Incoming, channel_id: str) -> Reply:
    first = (await used({0: message})).get(0, NOBODY)
    place = location(channel_id, message.message_id, scheduled=first.scheduled).encode()
    return Reply.problem(DuplicateMessage(), headers=[(b"location", place)], samePayload=first.same_payload)


ROUTES = (Route(PATH, ("POST",), broadcast, max_bytes=settings.MAX_PAYLOAD_BYTES, quiet=True),)
