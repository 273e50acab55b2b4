"""The broadcast door: POST /channel/{c}/broadcast, answered by the frame, committed in groups."""

import re
from collections.abc import Sequence

from django.conf import settings

from broker_project.api.door_pool import door_pool
from broker_project.api.express import Pending, Plain
from broker_project.api.frame import Request, Route
from broker_project.api.group_commit import GroupCommit
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming, new_message_ids, store
from channels_app.doorbell import ring_fan_out
from channels_app.registry import Entry
from scheduling_app.api import limits
from scheduling_app.api.admission import admit, admit_at_hand
from scheduling_app.api.duplicates import DuplicateMessage, used
from scheduling_app.api.headers import EmptyPayload, Headers
from scheduling_app.api.later import refuse_a_time

PATH = re.compile(r"/channel/([^/]+)/broadcast")


async def _write(messages: Sequence[Incoming]) -> list[bool]:
    async with door_pool().connection() as connection:
        stored = await store(connection, messages)
    ring_fan_out()
    return stored


_commits = GroupCommit[Incoming, bool](_write, size_of=lambda message: message.size)


async def start_door() -> None:
    await _commits.start()


async def stop_door() -> None:
    await _commits.stop()


async def broadcast(request: Request) -> Reply:
    """Stores one message; 201 means that it has been committed."""
    channel_id = PATH.fullmatch(request.path)[1]  # type: ignore[index]
    headers = Headers.of(request.headers)
    channel, producer = await admit(channel_id, headers, request)
    message = _message(channel, producer, headers, request.body)
    location = f"/channel/{channel_id}/message/{message.message_id}".encode()
    if limits.are_set(channel, producer) and await _limited_but_used(channel, producer, message, headers):
        return await _duplicate(message, location)
    if not await _commits.submit(message):
        return await _duplicate(message, location)
    return Reply(201, b"", headers=[(b"location", location)])


def plain(request: Plain) -> Pending | None:
    """The short way in: tokens are at hand and right, nothing is limited, the message is in order."""
    named = PATH.fullmatch(request.path)
    if named is None:
        return None
    headers = Headers.of(request.headers)
    try:
        opened = admit_at_hand(named[1], headers)
        if opened is None or limits.are_set(*opened):
            return None
        message = _message(*opened, headers, request.body)
        done = _commits.put(message)
    except BrokerError:
        # The long way says why, and paces who guesses.
        return None
    return Pending(done, f"/channel/{named[1]}/message/{message.message_id}".encode())


async def _limited_but_used(channel: Entry, producer: Entry, message: Incoming, headers: Headers) -> bool:
    """A limit refuses, unless the id was used before: who sends it again wants to know that it was heard."""
    try:
        await limits.check(channel, producer, 1)
    except limits.Limited:
        if headers.message_id() is None or not await used({0: message}):
            raise
        return True
    return False


def _message(channel: Entry, producer: Entry, headers: Headers, body: bytes) -> Incoming:
    """The contract's checks of a message, in the contract's order."""
    refuse_a_time(headers.one("X-Broker-Scheduled-For"))
    if not body:
        raise EmptyPayload
    return Incoming(
        channel_id=channel.row_id,
        producer_id=producer.row_id,
        message_id=headers.message_id() or new_message_ids(1)[0],
        payload=body,
        content_type=headers.content_type(),
        priority=headers.priority(),
        headers=headers.metadata(),
    )


async def _duplicate(message: Incoming, location: bytes) -> Reply:
    same = (await used({0: message})).get(0, False)
    return Reply.problem(DuplicateMessage(), headers=[(b"location", location)], samePayload=same)


ROUTES = (Route(PATH, ("POST",), broadcast, max_bytes=settings.MAX_PAYLOAD_BYTES, quiet=True),)
