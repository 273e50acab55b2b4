"""What these doors have in common: who is let in, and the document that was sent."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.pacing import pace
from channels_app.errors import UnknownChannel, UnknownConsumer, WrongToken
from channels_app.known import known, known_consumer
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.registry import Entry


class NotPull(BrokerError):
    """This consumer is pushed to: it cannot ask."""

    status = 412


class NotLeasing(BrokerError):
    """This consumer polls by index; leases are for pullMode lease."""

    status = 409


class NotAcking(BrokerError):
    """This consumer acknowledges by its answer; acks are for pull consumers, and for ackMode explicit."""

    status = 409


class NotIndexed(BrokerError):
    """This consumer takes leases; polling by index is for pullMode index."""

    status = 409


class NotJson(BrokerError):
    """The body must be JSON: application/json."""

    status = 415


class InvalidDocument(BrokerError):
    """The body is not the JSON that is wanted here."""


class Admitted(NamedTuple):
    """The ids as they stand in the address, and what they name."""

    channel_id: str
    consumer_id: str
    channel: Entry
    consumer: Entry

    def must_lease(self) -> None:
        if self.consumer.mode == ConsumerType.PUSH:
            raise NotPull
        if self.consumer.mode == PullMode.INDEX:
            raise NotLeasing

    def must_acknowledge(self) -> None:
        if self.consumer.mode == PullMode.INDEX:
            raise NotLeasing
        if not self.consumer.is_acking:
            raise NotAcking

    def must_poll(self) -> None:
        if self.consumer.mode == ConsumerType.PUSH:
            raise NotPull
        if self.consumer.mode == PullMode.LEASE:
            raise NotIndexed


def address(rest: str) -> re.Pattern[str]:
    return re.compile(rf"/channel/(?P<channel>[^/]+)/consumer/(?P<consumer>[^/]+)/{rest}")


async def admit(request: Request, path: re.Pattern[str]) -> Admitted:
    """Both tokens, or a refusal; guesses are paced."""
    found = path.fullmatch(request.path)
    assert found is not None
    tokens = {name: value.decode("latin1") for name, value in request.headers}
    try:
        channel = await known("channel", found["channel"])
        if channel is None:
            raise UnknownChannel
        _check(channel, tokens, "X-Broker-Channel-Token")
        consumer = await known_consumer(channel.row_id, found["consumer"])
        if consumer is None:
            raise UnknownConsumer
        _check(consumer, tokens, "X-Broker-Consumer-Token")
    except WrongToken:
        await pace(request.address)
        raise
    return Admitted(found["channel"], found["consumer"], channel, consumer)


def _check(entry: Entry, tokens: Mapping[bytes, str], name: str) -> None:
    token = tokens.get(name.lower().encode())
    if token is None:
        raise WrongToken(f"Missing: {name}.")
    if not entry.opened_by(token):
        raise WrongToken(f"{name} does not open this.")


def document(request: Request) -> Any:
    """The JSON that was sent; nothing at all is an empty object."""
    kinds = [value for name, value in request.headers if name == b"content-type"]
    if kinds and kinds[-1].partition(b";")[0].strip().lower() != b"application/json":
        raise NotJson
    try:
        return json.loads(request.body) if request.body.strip() else {}
    except (ValueError, RecursionError):
        raise InvalidDocument("The body is not JSON.") from None


def answer(document: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
