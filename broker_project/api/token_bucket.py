"""A rate limit shared by all processes: a token bucket in Redis. Redis away means open, and counted."""

import time
from functools import cache

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from broker_project.lib.tally import ALL, tally

log = structlog.get_logger(__name__)

REST_SECONDS = 5.0

# One round trip; Redis's own clock, so that processes on several machines agree.
_TAKE = """
local now = redis.call('TIME'); now = now[1] + now[2] / 1000000
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(state[1]) or burst) + math.max(0, now - (tonumber(state[2]) or now)) * rate)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = (1 - tokens) / rate end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(1000 * (burst / rate)) + 1000)
return tostring(wait)
"""


class TokenBucket:
    """Answers how many seconds to wait; 0 means go ahead."""

    def __init__(self, client: redis.Redis) -> None:
        self._take = client.register_script(_TAKE)
        self._away_until = 0.0
        self.opened = 0

    def take(self, key: str, *, per_second: float, burst: int) -> float:
        if per_second <= 0 or time.monotonic() < self._away_until:
            return 0.0
        try:
            return float(self._take(keys=[f"bucket:{key}"], args=[per_second, burst]))
        except redis.RedisError as error:
            self._open(error)
            return 0.0

    def _open(self, error: redis.RedisError) -> None:
        """Leave Redis alone for a while: a hung one would cost every request its socket timeout."""
        self.opened += 1
        tally().add({(ALL, "rate_limit_open"): 1})
        self._away_until = time.monotonic() + REST_SECONDS
        log.warning("rate_limit.open", error=type(error).__name__, opened=self.opened)


@cache
def shared_bucket() -> TokenBucket:
    # One try: the client's own retries would turn a hung Redis into seconds per request.
    once = Retry(NoBackoff(), 0)
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0, retry=once)
    return TokenBucket(client)
