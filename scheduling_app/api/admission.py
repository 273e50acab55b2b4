"""Who may broadcast to a channel: the tokens of both, in the contract's order."""

import math

from django.conf import settings

from broker_project.api.door_bucket import door_bucket
from broker_project.api.frame import Request
from broker_project.api.token_bucket import Limit
from broker_project.lib.errors import BrokerError
from channels_app.errors import UnknownChannel, WrongToken
from channels_app.known import at_hand, known
from channels_app.registry import Entry
from scheduling_app.api.headers import Headers


class UnknownProducer(BrokerError):
    """X-Broker-Producer-ID names no producer."""

    status = 401


class Throttled(BrokerError):
    """This address was refused too often; see Retry-After."""

    status = 429

    def __init__(self, wait_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = max(1, math.ceil(wait_seconds))


async def admit(channel_id: str, headers: Headers, request: Request) -> tuple[Entry, Entry]:
    """The channel and the producer. Guesses are paced by address; only who is refused pays."""
    try:
        return await _open(channel_id, headers)
    except (WrongToken, UnknownProducer):
        await _pace(request.address)
        raise


async def _pace(address: str) -> None:
    rate = settings.REFUSALS_PER_MINUTE
    # The bucket that the management API uses too.
    limit = Limit(f"refused:{address}", rate / 60, max(1, int(rate)))
    refusal = await door_bucket().take((limit,)) if rate > 0 else None
    if refusal is not None:
        raise Throttled(refusal[1])


def admit_at_hand(channel_id: str, headers: Headers) -> tuple[Entry, Entry] | None:
    """The same, of what this process knows; None if it would have to ask."""
    channel = at_hand("channel", channel_id)
    producer = at_hand("producer", headers.one("X-Broker-Producer-ID") or "")
    if channel is None or producer is None:
        return None
    _check(channel, headers.one("X-Broker-Channel-Token"))
    _check(producer, headers.one("X-Broker-Producer-Token"))
    return channel, producer


async def _open(channel_id: str, headers: Headers) -> tuple[Entry, Entry]:
    channel = await known("channel", channel_id)
    if channel is None:
        raise UnknownChannel
    _check(channel, headers.one("X-Broker-Channel-Token"))
    producer = await known("producer", headers.one("X-Broker-Producer-ID") or "")
    if producer is None:
        raise UnknownProducer
    _check(producer, headers.one("X-Broker-Producer-Token"))
    return channel, producer


def _check(entry: Entry, token: str | None) -> None:
    if not entry.opened_by(token or ""):
        raise WrongToken
