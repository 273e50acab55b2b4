"""Channels, producers and consumers: declared, whether they are there already or not."""

from typing import Any

from broker_client.flow import Flow, Request, json_request, path
from broker_client.identity import Identity
from broker_client.values import Registered


def put_producer(identity: Identity, /, producer: str, **settings: Any) -> Flow[Registered]:
    """Made, or changed where it exists; what is not named stays. Needs an API key."""
    return (yield from _put(identity, path("producer", producer), settings))


def put_channel(identity: Identity, /, channel: str, **settings: Any) -> Flow[Registered]:
    """Made, or changed where it exists; what is not named stays. Needs an API key."""
    return (yield from _put(identity, path("channel", channel), settings))


def put_consumer(identity: Identity, /, channel: str, consumer: str, **settings: Any) -> Flow[Registered]:
    """Made, or changed where it exists; what is not named stays. Needs an API key."""
    return (yield from _put(identity, path("channel", channel, "consumer", consumer), settings))


def producer(identity: Identity, producer: str) -> Flow[Registered]:
    return (yield from _get(identity.as_manager(), path("producer", producer)))


def channel(identity: Identity, channel: str) -> Flow[Registered]:
    return (yield from _get(identity.as_reader(channel), path("channel", channel)))


def consumer(identity: Identity, channel: str, consumer: str) -> Flow[Registered]:
    who = identity.as_manager() or identity.as_consumer(channel, consumer)
    return (yield from _get(who, path("channel", channel, "consumer", consumer)))


def delete_consumer(identity: Identity, channel: str, consumer: str) -> Flow[None]:
    """Its open jobs are dead; history stays."""
    where = path("channel", channel, "consumer", consumer)
    answer = yield Request("DELETE", where, {**identity.as_manager(), "If-Match": "*"})
    if not (answer.is_repeat and answer.status == 404):
        answer.expect()


def _put(identity: Identity, where: str, settings: dict[str, Any]) -> Flow[Registered]:
    """New, if there is none; else a change of whatever is there."""
    document = _camel(settings)
    answer = yield json_request("PUT", where, {**identity.as_manager(), "If-None-Match": "*"}, document)
    if answer.status == 412:
        answer = yield json_request("PUT", where, {**identity.as_manager(), "If-Match": "*"}, document)
    return Registered.of(answer.expect().json())


def _get(who: dict[str, str], where: str) -> Flow[Registered]:
    answer = yield Request("GET", where, who)
    return Registered.of(answer.expect().json())


def _camel(value: Any) -> Any:
    """Python's names to the broker's: ack_timeout_seconds is ackTimeoutSeconds."""
    if not isinstance(value, dict):
        return value
    return {_camel_word(name): _camel(inner) for name, inner in value.items()}


def _camel_word(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
