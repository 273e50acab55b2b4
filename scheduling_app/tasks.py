"""Thin tasks: one step, then the next ring. The row decides, so each may run twice."""

import threading
import time

from celery import shared_task
from django.conf import settings

from broker_project.lib.pg_lock import only_one
from channels_app.doorbell import doorbell, ring_work
from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from scheduling_app import dispatch, gone
from scheduling_app.bells import TICK, dispatch_bell, forget_rings, ring_dispatch, ring_tick
from scheduling_app.dispatch import Lane
from scheduling_app.metrics.activity import count_lags
from scheduling_app.recurring.tick import next_tick_in, tick_batch

# One at a time in each lane, across all processes; above the keys of the sweeps and of turns.
LANE_LOCK = 7_005 << 40
# Others wait for the thread.
TURN_SECONDS = 1.0
# What is due so soon is waited for: a ring would take about as long.
NEAR_SECONDS = 0.03
# Where many are due one after another, a batch of several costs as much as a batch of one.
GATHER_SECONDS = 0.01
# Threads that may wait at a time: the rest is for lanes that have work, and for the sweeps.
_waiting = threading.BoundedSemaphore(4)


@shared_task(name="scheduling_app.dispatch_due", **RETRIED)
def dispatch_due(lane_number: int) -> None:
    """Drains one lane. Who finds another at work leaves it to him: he looks again after his lock is free."""
    lane = Lane.numbered(lane_number)
    if not _take_turn(lane):
        # The ring that brought us must not keep later ones from being heard; those that it kept are tried for.
        doorbell().answer(dispatch_bell(lane))
        _take_turn(lane)


def _take_turn(lane: Lane) -> bool:
    with only_one(LANE_LOCK + lane.number, patience_seconds=0) as is_ours:
        if is_ours:
            _drain(lane)
    if is_ours:
        doorbell().answer(dispatch_bell(lane))
        wait = dispatch.next_due_in(lane)
        if wait is not None:
            ring_dispatch(lane, wait if wait > NEAR_SECONDS else 0)
    return is_ours


def _drain(lane: Lane) -> None:
    """Until nothing is due, or nothing soon."""
    deadline = time.monotonic() + TURN_SECONDS
    while time.monotonic() < deadline:
        done = dispatch.dispatch_batch(lane)
        count_lags(lane.channel_id, done.lags)
        ring_work(done.work)
        wait = dispatch.next_due_in(lane)
        if wait is None or wait > NEAR_SECONDS:
            return
        # What is due and was not taken is locked by somebody who changes it.
        if (wait > 0 or done.is_empty) and not _waited(wait):
            return


def _waited(seconds: float) -> bool:
    """Says no where enough others wait."""
    if not _waiting.acquire(blocking=False):
        return False
    try:
        time.sleep(max(seconds, GATHER_SECONDS))
    finally:
        _waiting.release()
    return True


@shared_task(name="scheduling_app.sweep", **RETRIED)
def sweep() -> None:
    """Every SCHEDULER_INTERVAL_MS: each lane with something due before the next sweep but one is rung for."""
    forget_rings()
    for lane, wait in dispatch.lanes_due(2 * settings.SCHEDULER_INTERVAL_SECONDS):
        ring_dispatch(lane, wait)


@shared_task(name="scheduling_app.cancel_gone", **RETRIED)
def cancel_gone() -> None:
    """The next sweep finds what a door stored that had not yet heard of the deletion."""
    count_moved("scheduling_app.cancel_gone", gone.cancel_gone())


@shared_task(name="scheduling_app.tick", **RETRIED)
def tick() -> None:
    """Every SCHEDULER_INTERVAL_MS, and at the time of the next: recurring schedules tick, and are rung for again."""
    _tick_until_quiet()
    doorbell().answer(TICK)
    wait = next_tick_in()
    if wait is not None:
        ring_tick(wait)


def _tick_until_quiet() -> None:
    deadline = time.monotonic() + TURN_SECONDS
    while time.monotonic() < deadline:
        done = tick_batch()
        for channel_id in done.channel_ids:
            ring_dispatch(Lane(channel_id, 0), 0)
        if done.is_empty:
            wait = next_tick_in()
            if wait is None or wait > NEAR_SECONDS:
                return
            time.sleep(max(wait, GATHER_SECONDS))
