"""The token bucket for the event loop: several limits in one round trip, and nobody waits long for it."""

import asyncio
from functools import cache

from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from broker_project.api.token_bucket import TAKE, Limit, Rest, script_arguments

REST_SECONDS = 3.0
CONNECTIONS = 8

Refusal = tuple[Limit, float]


class DoorBucket:
    """Answers which limit is in the way and for how many seconds; None means go ahead."""

    def __init__(self, client: Redis, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._client = client
        self._script = client.register_script(TAKE)
        self._rest = Rest(REST_SECONDS)
        # Those who wait here hear of a hung Redis from the first that asked it.
        self._turns = asyncio.Semaphore(CONNECTIONS)

    @property
    def opened(self) -> int:
        return self._rest.opened

    async def take(self, limits: tuple[Limit, ...], tokens: int = 1) -> Refusal | None:
        """A question that takes too long is not cut off: where connecting is slow, the next finds a connection."""
        if self._rest.resting:
            return None
        asking = asyncio.create_task(self._ask(limits, tokens))
        await asyncio.wait({asking}, timeout=self._patience_seconds)
        if asking.done():
            return asking.result()
        self._rest.begin(TimeoutError())
        return None

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, limits: tuple[Limit, ...], tokens: int) -> Refusal | None:
        keys, arguments = script_arguments(limits, tokens)
        async with self._turns:
            if self._rest.resting:
                return None
            try:
                place, wait = await self._script(keys=keys, args=arguments)
            except (RedisError, OSError) as error:
                self._rest.begin(error)
                return None
        return (limits[int(place) - 1], float(wait)) if place else None


@cache
def door_bucket() -> DoorBucket:
    """One per process, for its event loop."""
    once = Retry(NoBackoff(), 0)
    client = Redis.from_url(settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0, retry=once)
    return DoorBucket(client, settings.LIMIT_PATIENCE_SECONDS)


async def close_door_bucket() -> None:
    """Forgotten while Python is whole: at its very end, redis' pool imports something, and may wait for ever for a lock
    that a thread had when it was frozen."""
    if door_bucket.cache_info().currsize:
        await door_bucket().close()
        door_bucket.cache_clear()
