"""The broadcast door: POST /channel/{c}/broadcast, answered by the frame, committed in groups."""

import re
import uuid
from collections.abc import Sequence

import psycopg
from django.conf import settings
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.exceptions import StorageAway
from broker_project.api.frame import Request, Route
from broker_project.api.group_commit import GroupCommit
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming, store
from channels_app.doorbell import ring_fan_out
from channels_app.errors import UnknownChannel, WrongToken
from channels_app.known import known
from channels_app.registry import Entry
from scheduling_app.api.headers import Headers

PATH = re.compile(r"/channel/([^/]+)/broadcast")
DEFAULT_CONTENT_TYPE = "application/octet-stream"
MAX_CONTENT_TYPE = 255


class UnknownProducer(BrokerError):
    """X-Broker-Producer-ID names no producer."""

    status = 401


class EmptyPayload(BrokerError):
    """A message needs a body."""


class InvalidContentType(BrokerError):
    """Content-Type is too long."""


class DuplicateMessage(BrokerError):
    """This channel already has a message with this id."""

    status = 409


async def _write(messages: Sequence[Incoming]) -> list[bool]:
    async with door_pool().connection() as connection:
        return await store(connection, messages)


_commits = GroupCommit[Incoming, bool](_write, size_of=lambda message: message.size)


async def start_door() -> None:
    await _commits.start()


async def stop_door() -> None:
    await _commits.stop()


async def broadcast(request: Request) -> Reply:
    """Stores one message; 201 means that it has been committed."""
    channel_id = PATH.fullmatch(request.path)[1]  # type: ignore[index]
    incoming = await _admit(channel_id, Headers.of(request.headers), request.body)
    location = f"/channel/{channel_id}/message/{incoming.message_id}".encode()
    if not await _commits.submit(incoming):
        return await _duplicate(incoming, location)
    ring_fan_out()
    return Reply(201, b"", headers=[(b"location", location)])


async def _admit(channel_id: str, headers: Headers, body: bytes) -> Incoming:
    """The contract's checks, in the contract's order."""
    channel = await known("channel", channel_id)
    if channel is None:
        raise UnknownChannel
    if not channel.opened_by(headers.one("X-Broker-Channel-Token") or ""):
        raise WrongToken
    producer = await known("producer", headers.one("X-Broker-Producer-ID") or "")
    if producer is None:
        raise UnknownProducer
    if not producer.opened_by(headers.one("X-Broker-Producer-Token") or ""):
        raise WrongToken
    return _message(channel, producer, headers, body)


def _message(channel: Entry, producer: Entry, headers: Headers, body: bytes) -> Incoming:
    if not body:
        raise EmptyPayload
    content_type = headers.one("Content-Type") or DEFAULT_CONTENT_TYPE
    if len(content_type) > MAX_CONTENT_TYPE:
        raise InvalidContentType
    return Incoming(
        channel_id=channel.row_id,
        producer_id=producer.row_id,
        message_id=headers.message_id() or uuid.uuid4().hex,
        payload=body,
        content_type=content_type,
        priority=headers.priority(),
        headers=headers.metadata(),
    )


_FIRST = """
SELECT payload = %s FROM message_key JOIN message ON message.id = message_key.row_id
WHERE message_key.channel_id = %s AND message_key.message_id = %s
"""


async def _duplicate(incoming: Incoming, location: bytes) -> Reply:
    try:
        async with door_pool().connection() as connection:
            cursor = await connection.execute(_FIRST, (incoming.payload, incoming.channel_id, incoming.message_id))
            row = await cursor.fetchone()
    except (psycopg.Error, PoolTimeout) as error:
        raise StorageAway from error
    return Reply.problem(DuplicateMessage(), headers=[(b"location", location)], samePayload=bool(row and row[0]))


ROUTES = (Route(PATH, ("POST",), broadcast, max_bytes=settings.MAX_PAYLOAD_BYTES, quiet=True),)
