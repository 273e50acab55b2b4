"""Thin tasks: load, call one step, ring the next. The row decides, so each may run twice."""

import time
from typing import Any

import psycopg
from celery import shared_task
from celery.signals import task_postrun, worker_ready, worker_shutdown
from django.db import OperationalError
from django.utils import timezone
from psycopg_pool import PoolTimeout

from broker_project.lib.pg_lock import only_one
from channels_app.alerts import telling, watching
from channels_app.alerts.watchdog import start_watchdog
from channels_app.delivery import endings, fanout, sweeps
from channels_app.delivery.courier import Ended
from channels_app.delivery_loop import delivery_loop, stop_delivery_loop
from channels_app.doorbell import (
    FAN_OUT,
    deliver_bell,
    doorbell,
    notify_bell,
    ring_deliver,
    ring_fan_out,
    ring_notify,
    ring_promote,
    ring_work,
)
from channels_app.metrics.activity import count_moved, count_run
from channels_app.models import Operation, Progress
from channels_app.operations import runner
from channels_app.operations.bell import operation_bell, ring_operation
from channels_app.pull import expiry
from channels_app.pull.notify import GAP_SECONDS, seconds_to_wait

# Trouble of the infrastructure, not of a consumer: tried again with a growing, random wait.
RETRIED: dict[str, Any] = {
    "autoretry_for": (OperationalError, psycopg.OperationalError, PoolTimeout, TimeoutError),
    "retry_backoff": True,
    "retry_jitter": True,
    "max_retries": 5,
}
# Others wait for the thread: the sweeps among them.
FAN_OUT_SECONDS = 1.0
# Where many messages come one after another, a round of many costs as much as a round of one.
GATHER_SECONDS, GATHER_MANY_SECONDS = 0.005, 0.05
MANY = 20
ROUNDS_FOR_NOTHING = 10
FAN_OUT_LOCK, LAST_LOOK_SECONDS = 7_005, 0.2
# With an operation's id; above the keys of lanes.
OPERATION_LOCK, OPERATION_SECONDS = 7_006 << 40, 1.0


@shared_task(name="channels_app.fan_out", **RETRIED)
def fan_out() -> None:
    """One at a time. Who finds another at work leaves it to him, unless he is at his last look: that takes a moment."""
    with only_one(FAN_OUT_LOCK, patience_seconds=LAST_LOOK_SECONDS) as is_ours:
        if is_ours:
            _fan_out_until_quiet()
        else:
            # The ring that brought us must not keep later ones from being heard.
            doorbell().answer(FAN_OUT)


def _fan_out_until_quiet() -> None:
    """Round and round the channels that have messages waiting, a batch each, until a moment after the last."""
    deadline, for_nothing = time.monotonic() + FAN_OUT_SECONDS, 0
    while time.monotonic() < deadline and for_nothing < ROUNDS_FOR_NOTHING:
        moved = _fan_out_round()
        for_nothing = 0 if moved else for_nothing + 1
        if moved < fanout.MOST_JOBS:
            time.sleep(GATHER_SECONDS if moved < MANY else GATHER_MANY_SECONDS)
    doorbell().answer(FAN_OUT)
    # Whoever rang while the bell still hung has stored before; whoever stores from now on rings anew.
    if _fan_out_round():
        ring_fan_out()


@shared_task(name="channels_app.fan_out_left_over", **RETRIED)
def fan_out_left_over() -> None:
    """The net under lost rings. Where messages flow, it finds none old enough, and leaves them to the one at work."""
    if fanout.has_left_over():
        fan_out()


def _fan_out_round() -> int:
    done = [fanout.fan_out(channel_id) for channel_id in fanout.waiting_channels()]
    for one in done:
        ring_work(one.work)
    moved = sum(one.messages for one in done)
    count_moved("fan_out", moved)
    return moved


@shared_task(name="channels_app.deliver", **RETRIED)
def deliver(consumer_id: int) -> None:
    ended = delivery_loop().deliver(consumer_id)
    doorbell().answer(deliver_bell(consumer_id))
    if ended.ring_in is not None:
        ring_deliver(consumer_id, ended.ring_in)
    elif _came_while_it_hung(ended, consumer_id):
        ring_deliver(consumer_id)


def _came_while_it_hung(ended: Ended, consumer_id: int) -> bool:
    """The last look: jobs, or an answer that freed a slot, whose ring was merged into the one just answered."""
    if ended.is_drained:
        return sweeps.has_ready_jobs(consumer_id)
    if ended.is_full:
        return sweeps.has_free_slot(consumer_id) and sweeps.has_ready_jobs(consumer_id)
    return ended.is_hungry and not delivery_loop().is_hungry(consumer_id)


@shared_task(name="channels_app.notify", **RETRIED)
def notify(consumer_id: int) -> None:
    """Too early, it comes again when a second is over; until then the bell hangs, and all rings are that one."""
    wait = seconds_to_wait(consumer_id)
    if wait:
        ring_notify(consumer_id, wait)
        return
    # Before the look: what is stored later rings anew.
    doorbell().answer(notify_bell(consumer_id))
    if not delivery_loop().notify(consumer_id):
        ring_notify(consumer_id, GAP_SECONDS)


@shared_task(name="channels_app.promote_due", **RETRIED)
def promote_due() -> None:
    ring_work(sweeps.promote_due())


@shared_task(name="channels_app.take_back_lost", **RETRIED)
def take_back_lost() -> None:
    """Leases that ran out: of workers that are lost, and of consumers that did not acknowledge."""
    ring_work(sweeps.take_back_lost())
    expired = expiry.end_unacknowledged()
    ring_work(expired.work)
    for wait in expired.waits:
        ring_promote(wait)


@shared_task(name="channels_app.ring_ready", **RETRIED)
def ring_ready() -> None:
    """The net under lost rings: whoever has ready jobs is rung for."""
    for consumer_id in sweeps.consumers_with_ready_jobs():
        ring_deliver(consumer_id)


@shared_task(name="channels_app.expire_old", **RETRIED)
def expire_old() -> None:
    count_moved("expire_old", endings.expire_old())


@shared_task(name="channels_app.bury_gone", **RETRIED)
def bury_gone() -> None:
    count_moved("bury_gone", endings.bury_gone())


@shared_task(name="channels_app.run_operation", **RETRIED)
def run_operation(operation_id: int) -> None:
    """One at a time, for about a second. Who finds another at work leaves it to him, and to the sweep."""
    rest_seconds = 0.0
    with only_one(OPERATION_LOCK + operation_id, patience_seconds=LAST_LOOK_SECONDS) as is_ours:
        if is_ours:
            rest_seconds = runner.run(operation_id, seconds=OPERATION_SECONDS)
    doorbell().answer(operation_bell(operation_id))
    # Not at its end yet, or resumed while the bell still hung.
    if is_ours and Operation.objects.filter(pk=operation_id).open().exists():
        ring_operation(operation_id, rest_seconds)


@shared_task(name="channels_app.run_operations", **RETRIED)
def run_operations() -> None:
    """The net under lost rings and killed workers: whatever is not at its end is gone on with."""
    for operation_id in Operation.objects.open().order_by("pk").values_list("pk", flat=True):
        ring_operation(operation_id)


@shared_task(name="channels_app.watch_alerts", **RETRIED)
def watch_alerts() -> None:
    """Begins and ends alerts. Others tell of them: a webhook that hangs holds up no sweep."""
    watching.watch(timezone.now())


@shared_task(name="channels_app.tell_alerts", **RETRIED)
def tell_alerts() -> None:
    """In a delivery worker, whose threads are for waiting."""
    telling.tell()


@shared_task(name="channels_app.fold_counters", **RETRIED)
def fold_counters() -> None:
    sweeps.fold_counters()


@shared_task(name="channels_app.report_dispatch_progress", **RETRIED)
def report_dispatch_progress() -> None:
    """Shows that beat, Redis and the dispatch worker work together."""
    Progress.objects.mark("dispatch")


@shared_task(name="channels_app.report_delivery_progress", **RETRIED)
def report_delivery_progress() -> None:
    Progress.objects.mark("delivery")


@task_postrun.connect
def count_sweep(task: Any, state: str | None, **_kwargs: Any) -> None:
    count_run(task.name, state or "")


@worker_ready.connect
def open_loop(sender: Any, **_kwargs: Any) -> None:
    """Before the first ring: a message due right after a start need not wait for it."""
    if "delivery" in sender.app.amqp.queues.consume_from:
        delivery_loop()


@worker_ready.connect
def watch_when_nobody_does(**_kwargs: Any) -> None:
    start_watchdog()


@worker_shutdown.connect
def end_tries(**_kwargs: Any) -> None:
    """Tries under way get a moment to end; what is cut short is released for another worker, and is no failure."""
    stop_delivery_loop()
