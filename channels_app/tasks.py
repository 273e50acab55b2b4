"""Thin tasks: load, call one step, ring the next. The row decides, so each may run twice."""

import time
from typing import Any

import psycopg
from celery import shared_task
from celery.signals import task_postrun, worker_shutdown
from django.db import OperationalError
from psycopg_pool import PoolTimeout

from channels_app.delivery import endings, fanout, sweeps
from channels_app.delivery_loop import delivery_loop, stop_delivery_loop
from channels_app.doorbell import FAN_OUT, deliver_bell, doorbell, ring_deliver, ring_fan_out
from channels_app.metrics.activity import count_moved, count_run
from channels_app.models import Progress

# Trouble of the infrastructure, not of a consumer: tried again with a growing, random wait.
RETRIED: dict[str, Any] = {
    "autoretry_for": (OperationalError, psycopg.OperationalError, PoolTimeout, TimeoutError),
    "retry_backoff": True,
    "retry_jitter": True,
    "max_retries": 5,
}
FAN_OUT_SECONDS = 1.0


@shared_task(name="channels_app.fan_out", **RETRIED)
def fan_out() -> None:
    """Round and round the channels that have messages waiting, a batch each, until none has."""
    doorbell().answer(FAN_OUT)
    deadline = time.monotonic() + FAN_OUT_SECONDS
    while channels := fanout.waiting_channels():
        done = [fanout.fan_out(channel_id) for channel_id in channels]
        for consumer_id in frozenset().union(*(one.consumer_ids for one in done)):
            ring_deliver(consumer_id)
        count_moved("fan_out", sum(one.messages for one in done))
        if not any(one.messages for one in done):
            return
        if time.monotonic() > deadline:
            # Others wait for this thread: the sweeps among them.
            ring_fan_out()
            return


@shared_task(name="channels_app.deliver", **RETRIED)
def deliver(consumer_id: int) -> None:
    doorbell().answer(deliver_bell(consumer_id))
    again = delivery_loop().deliver(consumer_id)
    if again is not None:
        ring_deliver(consumer_id, again)


@shared_task(name="channels_app.promote_due", **RETRIED)
def promote_due() -> None:
    for consumer_id in sweeps.promote_due():
        ring_deliver(consumer_id)


@shared_task(name="channels_app.take_back_lost", **RETRIED)
def take_back_lost() -> None:
    for consumer_id in sweeps.take_back_lost():
        ring_deliver(consumer_id)


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


@worker_shutdown.connect
def end_tries(**_kwargs: Any) -> None:
    """Tries under way get a moment to end; what is cut short is released for another worker, and is no failure."""
    stop_delivery_loop()
