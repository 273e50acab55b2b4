"""Thin tasks: one step, then the next ring. The row decides, so each may run twice."""

import time

from celery import shared_task
from django.conf import settings

from broker_project.lib.pg_lock import only_one
from channels_app.doorbell import doorbell, ring_deliver
from channels_app.tasks import RETRIED
from scheduling_app import dispatch
from scheduling_app.bells import TICK, dispatch_bell, ring_dispatch, ring_tick
from scheduling_app.dispatch import Lane
from scheduling_app.recurring.tick import next_tick_in, tick_batch

# One at a time in each lane, across all processes; above the keys of the sweeps and of turns.
LANE_LOCK = 7_005 << 40
LAST_LOOK_SECONDS = 0.2
# Others wait for the thread.
TURN_SECONDS = 1.0
# What is due so soon is waited for: a ring would take about as long.
NEAR_SECONDS = 0.03
# A row that is due and was not taken is locked by somebody who changes it.
LOCKED_SECONDS = 0.005


@shared_task(name="scheduling_app.dispatch_due", **RETRIED)
def dispatch_due(lane_number: int) -> None:
    """Drains one lane. Who finds another at work leaves it to him, unless he is at his last look."""
    lane = Lane.numbered(lane_number)
    with only_one(LANE_LOCK + lane_number, patience_seconds=LAST_LOOK_SECONDS) as is_ours:
        if is_ours:
            _drain(lane)
        # The ring that brought us must not keep later ones from being heard.
        doorbell().answer(dispatch_bell(lane))
        wait = dispatch.next_due_in(lane) if is_ours else None
    if wait is not None:
        ring_dispatch(lane, wait)


def _drain(lane: Lane) -> None:
    """Until nothing is due, or nothing soon."""
    deadline = time.monotonic() + TURN_SECONDS
    while time.monotonic() < deadline:
        done = dispatch.dispatch_batch(lane)
        for consumer_id in done.consumer_ids:
            ring_deliver(consumer_id)
        if done.is_empty:
            wait = dispatch.next_due_in(lane)
            if wait is None or wait > NEAR_SECONDS:
                return
            time.sleep(max(wait, LOCKED_SECONDS))


@shared_task(name="scheduling_app.sweep", **RETRIED)
def sweep() -> None:
    """Every SCHEDULER_INTERVAL_MS: each lane with something due before the next sweep is rung for, at its time."""
    for lane, wait in dispatch.lanes_due(settings.SCHEDULER_INTERVAL_MS / 1000):
        ring_dispatch(lane, wait)


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
            time.sleep(max(wait, LOCKED_SECONDS))
