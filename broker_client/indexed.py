"""Messages by index, for consumers with pullMode index: poll, acknowledge, ask again, seek."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from broker_client.flow import Flow, Request, json_request, path
from broker_client.identity import Identity
from broker_client.outgoing import rfc3339
from broker_client.values import Document, Message


@dataclass(frozen=True)
class Indexed:
    """A message and its place in the channel."""

    index: int
    message: Message

    @classmethod
    def of(cls, document: Document) -> "Indexed":
        return cls(document["index"], Message.of(document["message"]))


@dataclass(frozen=True)
class Indexes:
    """Everything up to `acked` is acknowledged; everything up to `sent` was handed out."""

    acked: int
    sent: int

    @classmethod
    def of(cls, document: Document) -> "Indexes":
        return cls(document["ackedIndex"], document["sentIndex"])


@dataclass(frozen=True)
class Polled:
    """In order of index. When there is nothing, `reason` says why: caught_up, unacked_cap_reached, and so on."""

    messages: tuple[Indexed, ...]
    reason: str | None
    indexes: Indexes

    @classmethod
    def of(cls, document: Document) -> "Polled":
        messages = tuple(Indexed.of(found) for found in document["result"])
        return cls(messages, document.get("reason"), Indexes.of(document))


def poll(identity: Identity, channel: str, consumer: str, *, start: int | None = None, limit: int = 25) -> Flow[Polled]:
    """What was not handed out before, after `start` if given. If an answer is lost, ask by message_at, or seek."""
    asked = {"limit": limit} if start is None else {"from": start, "limit": limit}
    where = _place(channel, consumer, "poll") + "?" + urlencode(asked)
    request = Request("GET", where, identity.as_consumer(channel, consumer))
    answer = yield replace(request, repeatable=False)
    return Polled.of(answer.expect().json())


def message_at(identity: Identity, channel: str, consumer: str, index: int) -> Flow[Indexed]:
    """One that was handed out before, again."""
    where = _place(channel, consumer, "message-at", str(index))
    answer = yield Request("GET", where, identity.as_consumer(channel, consumer))
    return Indexed.of(answer.expect().json())


def ack_index(identity: Identity, channel: str, consumer: str, index: int) -> Flow[Indexes]:
    """This one is done."""
    return (yield from _post(identity, channel, consumer, "ack", {"index": index}))


def ack_up_to(identity: Identity, channel: str, consumer: str, index: int) -> Flow[Indexes]:
    """This one and all before it are done."""
    return (yield from _post(identity, channel, consumer, "ack", {"upTo": index}))


def seek(identity: Identity, channel: str, consumer: str, to: int | datetime) -> Flow[Indexes]:
    """Go on after this index, or with the first message from this time on."""
    where = {"time": rfc3339(to)} if isinstance(to, datetime) else {"index": to}
    return (yield from _post(identity, channel, consumer, "seek", where))


def _post(identity: Identity, channel: str, consumer: str, verb: str, said: dict[str, Any]) -> Flow[Indexes]:
    where = _place(channel, consumer, verb)
    answer = yield json_request("POST", where, identity.as_consumer(channel, consumer), said)
    return Indexes.of(answer.expect().json())


def _place(channel: str, consumer: str, *rest: str) -> str:
    return path("channel", channel, "consumer", consumer, *rest)
