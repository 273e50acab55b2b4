"""How much a producer and a channel take: rates by buckets in Redis, the backlog by counters."""

import math

from broker_project.api.door_bucket import door_bucket
from broker_project.api.token_bucket import shared_bucket
from broker_project.lib.errors import BrokerError
from channels_app.registry import Entry
from scheduling_app.door.backlog import backlog, open_work


class Limited(BrokerError):
    """A limit was reached; see Retry-After."""

    status = 429

    def __init__(self, wait_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = max(1, math.ceil(wait_seconds))


class ProducerRateLimited(Limited):
    """This producer broadcasts faster than it may; see Retry-After."""


class ChannelRateLimited(Limited):
    """This channel is sent messages faster than it may be; see Retry-After."""


class BacklogFull(Limited):
    """This channel has as much undelivered work as it may have; see Retry-After."""


BACKLOG_WAIT_SECONDS = 2


def are_set(channel: Entry, producer: Entry) -> bool:
    return channel.limit is not None or producer.limit is not None or channel.max_backlog is not None


async def check(channel: Entry, producer: Entry, messages: int) -> None:
    """Refuses, or takes what these messages need."""
    if channel.max_backlog is not None and not await backlog().admit(channel.row_id, channel.max_backlog, messages):
        raise BacklogFull(BACKLOG_WAIT_SECONDS)
    limits = tuple(entry.limit for entry in (producer, channel) if entry.limit is not None)
    refusal = await door_bucket().take(limits, messages) if limits else None
    if refusal is not None:
        limit, wait = refusal
        raise (ProducerRateLimited if limit is producer.limit else ChannelRateLimited)(wait)


def check_one(channel: Entry, producer: Entry) -> None:
    """The same for one message, for who has no event loop: by the same counters, out of the same buckets."""
    if channel.max_backlog is not None and open_work(channel.row_id) >= channel.max_backlog:
        raise BacklogFull(BACKLOG_WAIT_SECONDS)
    for entry, refusal in ((producer, ProducerRateLimited), (channel, ChannelRateLimited)):
        limit = entry.limit
        wait = shared_bucket().take(limit.key, per_second=limit.per_second, burst=limit.burst) if limit else 0.0
        if wait:
            raise refusal(wait)
