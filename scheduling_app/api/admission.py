"""Who may broadcast to a channel: the tokens of both, in the contract's order."""

from broker_project.api.frame import Request
from broker_project.lib.errors import BrokerError
from channels_app.api.pacing import pace
from channels_app.errors import UnknownChannel, WrongToken
from channels_app.known import at_hand, known
from channels_app.registry import Entry
from scheduling_app.api.headers import Headers


class UnknownProducer(BrokerError):
    """X-Broker-Producer-ID names no producer."""

    status = 401


CREDENTIALS = ("X-Broker-Channel-Token", "X-Broker-Producer-ID", "X-Broker-Producer-Token")


async def admit(channel_id: str, headers: Headers, request: Request) -> tuple[Entry, Entry]:
    """The channel and the producer. Guesses are paced by address; only who is refused pays."""
    try:
        return await _open(channel_id, headers)
    except (WrongToken, UnknownProducer):
        await pace(request.address)
        raise


def admit_at_hand(channel_id: str, headers: Headers) -> tuple[Entry, Entry] | None:
    """The same, of what this process knows; None if it would have to ask."""
    channel = at_hand("channel", channel_id)
    producer = at_hand("producer", headers.one("X-Broker-Producer-ID") or "")
    if channel is None or producer is None:
        return None
    _check(channel, headers, "X-Broker-Channel-Token")
    _check(producer, headers, "X-Broker-Producer-Token")
    return channel, producer


async def _open(channel_id: str, headers: Headers) -> tuple[Entry, Entry]:
    channel = await known("channel", channel_id)
    if channel is None:
        raise UnknownChannel
    _check(channel, headers, "X-Broker-Channel-Token")
    producer_id = headers.one("X-Broker-Producer-ID")
    if not producer_id:
        raise UnknownProducer(_missing(headers))
    producer = await known("producer", producer_id)
    if producer is None:
        raise UnknownProducer
    _check(producer, headers, "X-Broker-Producer-Token")
    return channel, producer


def _check(entry: Entry, headers: Headers, name: str) -> None:
    token = headers.one(name)
    if not token:
        raise WrongToken(_missing(headers))
    if not entry.opened_by(token):
        raise WrongToken(f"{name} does not open this.")


def _missing(headers: Headers) -> str:
    """All of them at once: a newcomer learns what to send by one refusal, not by three."""
    return f"Missing: {', '.join(name for name in CREDENTIALS if not headers.has(name))}."
