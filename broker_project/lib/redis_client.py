"""A Redis client that gives up soon: nobody may wait for seconds because Redis hangs."""

import redis
import redis.asyncio
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 1.0
HEALTH_CHECK_SECONDS = 10


def redis_client(**more: bool) -> redis.Redis:
    """One try: the client's own retries would turn a hung Redis into many seconds."""
    once = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, retry=once, **more
    )


def listening_client() -> redis.asyncio.Redis:
    """For an event loop that waits for what others publish, without an end; a connection that died is noticed."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=TIMEOUT_SECONDS, health_check_interval=HEALTH_CHECK_SECONDS
    )
