"""Rings for messages for later: now, or by Celery's eta for what is due before the next sweep would find it."""

import math
import time
from collections.abc import Iterable

from django.conf import settings

from channels_app.doorbell import Bell, doorbell
from scheduling_app.accept import Later
from scheduling_app.dispatch import Lane

# Moments are rounded up to this: many messages, one ring.
GRAIN_SECONDS = 0.02
TICK = Bell("scheduling_app.tick")
# By bell, the next ring that this process has sent ahead. Its task rings for what comes after it.
_ahead: dict[Bell, float] = {}


def dispatch_bell(lane: Lane) -> Bell:
    return Bell("scheduling_app.dispatch_due", lane.number)


def ring_dispatch(lane: Lane, in_seconds: float) -> None:
    _ring(dispatch_bell(lane), in_seconds)


def ring_tick(in_seconds: float) -> None:
    """For the recurring schedule that ticks next."""
    _ring(TICK, in_seconds)


def _ring(bell: Bell, in_seconds: float) -> None:
    """What is due after the next sweep but one is left to the sweep: no eta reaches further."""
    if in_seconds <= 0:
        doorbell().ring(bell)
    elif in_seconds <= 2 * settings.SCHEDULER_INTERVAL_SECONDS:
        _ring_ahead(bell, bell.later(in_seconds, GRAIN_SECONDS))


def _ring_ahead(bell: Bell, later: Bell) -> None:
    if not time.time() < _ahead.get(bell, 0.0) <= later.due:
        _ahead[bell] = later.due
        doorbell().ring(later)


def forget_rings() -> None:
    """By the sweep, the net under lost rings: it rings whatever was rung before."""
    _ahead.clear()


def ring_for(several: Iterable[Later]) -> None:
    """For messages that were just stored: one ring for each lane and moment."""
    now = time.time()
    soonest: dict[Lane, float] = {}
    for message, times, _ in several:
        lane = Lane(message.channel_id, message.partition)
        soonest[lane] = min(soonest.get(lane, math.inf), times.due / 1_000_000 - now)
    for lane, wait in soonest.items():
        ring_dispatch(lane, wait)
