"""Rings the next step by Celery. A ring is a hint: the rows decide, and the sweeps come round anyway.

Rings go from one background thread per process: with Redis away, sending would block for seconds. Rings for the same
bell are one until somebody has answered it: a task works, takes the bell off, and looks once more, so that no ring is
lost, and a consumer that is busy for a second costs one task, not a hundred.
"""

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import redis
import structlog

from broker_project.celery import app
from broker_project.lib.redis_client import redis_client
from channels_app.delivery.work import Work
from channels_app.metrics.activity import count_rings

log = structlog.get_logger(__name__)

HELD_MS = 2_000
# The first ring goes at once; those of the next moment go together. Where a bell hangs already, somebody is at work.
GATHER_SECONDS, GATHER_MERGED_SECONDS = 0.01, 0.05
REST_SECONDS = 1.0
# A ring that nobody answered by then is worth nothing: the sweeps have rung again.
EXPIRES_SECONDS = 10.0
SOON_SECONDS = 35.0
DELIVER_GRAIN_SECONDS = 0.05
PROMOTE_GRAIN_SECONDS = 0.1
NOTIFY_GRAIN_SECONDS = 0.05
# Where web processes hear of jobs for those who wait for an answer: consumers' ids, by commas.
READY_FOR_PULL = "ready-for-pull"


@dataclass(frozen=True)
class Bell:
    """A task and its argument, to be rung now or at a moment. Moments are rounded up: many rings become one."""

    task: str
    argument: int | None = None
    due: float = 0.0

    @property
    def key(self) -> str:
        return f"doorbell:{self.task}:{self.argument}:{self.due}"

    @property
    def wait_seconds(self) -> float:
        return max(0.0, self.due - time.time())

    def later(self, in_seconds: float, grain_seconds: float) -> "Bell":
        due = math.ceil((time.time() + in_seconds) / grain_seconds) * grain_seconds
        return replace(self, due=round(due, 3))


class Doorbell:
    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._rung: dict[Bell, None] = {}
        self._hinted: set[int] = set()
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="doorbell", daemon=True).start()

    def ring(self, bell: Bell) -> None:
        if bell in self._rung:
            return
        with self._changed:
            self._rung[bell] = None
            self._changed.notify()

    def hint(self, consumer_ids: Iterable[int]) -> None:
        """Those who ask us have something to ask for."""
        with self._changed:
            self._hinted.update(consumer_ids)
            self._changed.notify()

    def answer(self, bell: Bell) -> None:
        """By the task that was rung for, before its last look: what was merged into its ring is found by that look."""
        try:
            self._client.delete(bell.key)
        except redis.RedisError as error:
            log.warning("doorbell.cannot_answer", error=type(error).__name__)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._rung or self._hinted))
                bells, self._rung = list(self._rung), {}
                hinted, self._hinted = self._hinted, set()
            time.sleep(self._send(bells, hinted))

    def _send(self, bells: list[Bell], hinted: set[int]) -> float:
        """Says for how long the next are gathered."""
        pause = GATHER_SECONDS if hinted else GATHER_MERGED_SECONDS
        try:
            if hinted:
                self._client.publish(READY_FOR_PULL, ",".join(map(str, hinted)))
            for bell in list(bells):
                if self._hang(bell):
                    pause = GATHER_SECONDS
                bells.remove(bell)
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the thread lives on, and the sweeps find what these rings were for.
            log.warning("doorbell.away", error=type(error).__name__, dropped=len(bells))
            count_rings("dropped", *(bell.task for bell in bells))
            return REST_SECONDS
        return pause

    def _hang(self, bell: Bell) -> bool:
        """Rings, unless the bell hangs already."""
        wait = bell.wait_seconds
        if not self._client.set(bell.key, 1, nx=True, px=HELD_MS + int(wait * 1000)):
            count_rings("merged", bell.task)
            return False
        arguments = [] if bell.argument is None else [bell.argument]
        app.send_task(bell.task, arguments, countdown=wait or None, expires=wait + EXPIRES_SECONDS)
        count_rings("sent", bell.task)
        return True


@cache
def doorbell() -> Doorbell:
    return Doorbell(redis_client())


FAN_OUT = Bell("channels_app.fan_out")
PROMOTE = Bell("channels_app.promote_due")
READY = Bell("channels_app.ring_ready")
BURY = Bell("channels_app.bury_gone")


def ring_fan_out() -> None:
    doorbell().ring(FAN_OUT)


def ring_ready() -> None:
    doorbell().ring(READY)


def ring_bury() -> None:
    doorbell().ring(BURY)


def deliver_bell(consumer_id: int) -> Bell:
    return Bell("channels_app.deliver", consumer_id)


def ring_deliver(consumer_id: int, in_seconds: float = 0.0) -> None:
    bell = deliver_bell(consumer_id)
    if in_seconds < SOON_SECONDS:
        doorbell().ring(bell.later(in_seconds, DELIVER_GRAIN_SECONDS) if in_seconds else bell)


def notify_bell(consumer_id: int) -> Bell:
    return Bell("channels_app.notify", consumer_id)


def ring_notify(consumer_id: int, in_seconds: float = 0.0) -> None:
    bell = notify_bell(consumer_id)
    doorbell().ring(bell.later(in_seconds, NOTIFY_GRAIN_SECONDS) if in_seconds else bell)


def ring_work(work: Work) -> None:
    for consumer_id in work.push:
        ring_deliver(consumer_id)
    if work.pull:
        doorbell().hint(work.pull)
    for consumer_id in work.told:
        ring_notify(consumer_id)


def ring_promote(in_seconds: float) -> None:
    """A retry that is due soon need not wait for the sweep; one far away is left to it."""
    if in_seconds < SOON_SECONDS:
        doorbell().ring(PROMOTE.later(in_seconds, PROMOTE_GRAIN_SECONDS))
