"""Who may broadcast to a channel: the tokens of both, in the contract's order."""

from broker_project.lib.errors import BrokerError
from channels_app.errors import UnknownChannel, WrongToken
from channels_app.known import known
from channels_app.registry import Entry
from scheduling_app.api.headers import Headers


class UnknownProducer(BrokerError):
    """X-Broker-Producer-ID names no producer."""

    status = 401


async def admit(channel_id: str, headers: Headers) -> tuple[Entry, Entry]:
    """The channel and the producer."""
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
    return channel, producer
