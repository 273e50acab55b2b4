"""A rate limit shared by all processes: a token bucket in Redis. Redis away means open, and counted."""

import time
from dataclasses import dataclass
from functools import cache

import redis
import structlog

from broker_project.lib.redis_client import redis_client
from broker_project.lib.tally import ALL, tally

log = structlog.get_logger(__name__)

REST_SECONDS = 5.0

# One round trip for any number of buckets; Redis's own clock, so that processes on several machines agree. Either
# every bucket gives its tokens or none does. More tokens than a bucket holds are given when it is full, and it owes
# the rest: a large batch is never refused for ever. The answer is the bucket that is in the way, and for how long.
TAKE = """
local now = redis.call('TIME'); now = now[1] + now[2] / 1000000
local wanted, worst, wait, have = tonumber(ARGV[1]), 0, 0, {}
for place, key in ipairs(KEYS) do
    local rate, burst = tonumber(ARGV[2 * place]), tonumber(ARGV[2 * place + 1])
    local state = redis.call('HMGET', key, 'tokens', 'at')
    local passed = math.max(0, now - (tonumber(state[2]) or now))
    have[place] = math.min(burst, (tonumber(state[1]) or burst) + passed * rate)
    local missing = (math.min(wanted, burst) - have[place]) / rate
    if missing > wait then worst, wait = place, missing end
end
for place, key in ipairs(KEYS) do
    local rate, burst = tonumber(ARGV[2 * place]), tonumber(ARGV[2 * place + 1])
    if wait == 0 then have[place] = have[place] - wanted end
    redis.call('HSET', key, 'tokens', tostring(have[place]), 'at', tostring(now))
    redis.call('PEXPIRE', key, math.ceil(1000 * (burst - have[place]) / rate) + 1000)
end
return {worst, tostring(wait)}
"""


@dataclass(frozen=True)
class Limit:
    """A bucket by name: how fast it fills, and how much it holds."""

    key: str
    per_second: float
    burst: int


def script_arguments(limits: tuple[Limit, ...], tokens: int) -> tuple[list[str], list[float]]:
    """The keys and arguments of TAKE."""
    arguments: list[float] = [tokens]
    for limit in limits:
        arguments += (limit.per_second, limit.burst)
    return [f"bucket:{limit.key}" for limit in limits], arguments


class Rest:
    """Leaves Redis alone for a while after it failed: a hung one would cost every request its timeout."""

    def __init__(self, seconds: float = REST_SECONDS) -> None:
        self._seconds = seconds
        self._until = 0.0
        self.opened = 0

    @property
    def resting(self) -> bool:
        return time.monotonic() < self._until

    def begin(self, error: BaseException) -> None:
        """Of many that failed together the first counts."""
        if self.resting:
            return
        self.opened += 1
        tally().add({(ALL, "rate_limit_open"): 1})
        self._until = time.monotonic() + self._seconds
        log.warning("rate_limit.open", error=type(error).__name__, opened=self.opened)


class TokenBucket:
    """Answers how many seconds to wait; 0 means go ahead."""

    def __init__(self, client: redis.Redis) -> None:
        self._take = client.register_script(TAKE)
        self._rest = Rest()

    @property
    def opened(self) -> int:
        return self._rest.opened

    def take(self, key: str, *, per_second: float, burst: int) -> float:
        if per_second <= 0 or self._rest.resting:
            return 0.0
        keys, arguments = script_arguments((Limit(key, per_second, burst),), 1)
        try:
            return float(self._take(keys=keys, args=arguments)[1])
        except redis.RedisError as error:
            self._rest.begin(error)
            return 0.0


@cache
def shared_bucket() -> TokenBucket:
    return TokenBucket(redis_client())
