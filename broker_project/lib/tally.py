"""Counts that every process adds to, kept in Redis: files would not cross containers.

Adding costs a dictionary and no wait: a thread per process sends what has gathered. A batch has an id, so that one sent
again after a timeout counts once, also when a Redis that hung wakes up and reads all the copies.
"""

import atexit
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import redis
import structlog

from broker_project.lib.redis_client import redis_client

log = structlog.get_logger(__name__)

GATHER_SECONDS = 0.5
REST_SECONDS = 1.0
# With Redis away, new fields beyond these are given up and counted as lost.
MOST_FIELDS = 5_000
# A hash that nobody has added to for so long is of no use any more.
KEPT_SECONDS = 30 * 24 * 3600
ALL = "metrics:all"
LOST = "lost"

# A hash and a field in it.
Place = tuple[str, str]

_ADD = """
if not redis.call('SET', KEYS[1], 1, 'NX', 'EX', 3600) then return end
for at = 2, #ARGV, 3 do redis.call('HINCRBYFLOAT', KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2]) end
for at = 2, #KEYS do redis.call('EXPIRE', KEYS[at], ARGV[1]) end
"""


@dataclass(frozen=True)
class Batch:
    """Amounts on their way, with the id by which Redis knows them again."""

    amounts: Mapping[Place, float]
    key: str = field(default_factory=lambda: f"metrics:batch:{uuid.uuid4().hex}")

    def keys(self) -> list[str]:
        return [self.key, *dict.fromkeys(name for name, _ in self.amounts)]

    def arguments(self) -> list[str | float]:
        places = {name: place for place, name in enumerate(self.keys(), start=1)}
        fields = ((places[name], field_, amount) for (name, field_), amount in self.amounts.items())
        return [KEPT_SECONDS, *(word for three in fields for word in three)]


class Tally:
    def __init__(self, client: redis.Redis) -> None:
        self._send = client.register_script(_ADD)
        self._gathered: dict[Place, float] = {}
        self._lost = 0
        self._changed = threading.Condition()
        self._batch: Batch | None = None
        self._sending = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._work, name="tally", daemon=True).start()
        atexit.register(self.flush)

    def add(self, amounts: Mapping[Place, float]) -> None:
        with self._changed:
            for place, amount in amounts.items():
                if place in self._gathered or len(self._gathered) < MOST_FIELDS:
                    self._gathered[place] = self._gathered.get(place, 0) + amount
                else:
                    self._lost += 1
            self._changed.notify()

    def flush(self) -> bool:
        """One try. What was not taken for certain is kept, and sent again under the same id."""
        with self._sending:
            self._batch = self._batch or self._take()
            if self._batch is None:
                return True
            try:
                self._send(keys=self._batch.keys(), args=self._batch.arguments())
            except (redis.RedisError, OSError) as error:
                # The doorbell, which matters more, says it aloud.
                log.debug("tally.away", error=type(error).__name__, fields=len(self._batch.amounts))
                return False
            self._batch = None
            return True

    def _take(self) -> Batch | None:
        with self._changed:
            gathered, self._gathered = self._gathered, {}
            if self._lost:
                gathered[ALL, LOST] = gathered.get((ALL, LOST), 0) + self._lost
                self._lost = 0
        return Batch(gathered) if gathered else None

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._gathered or self._batch))
            time.sleep(GATHER_SECONDS)
            if not self.flush():
                time.sleep(REST_SECONDS)


@cache
def tally() -> Tally:
    made = Tally(redis_client())
    made.start()
    return made
