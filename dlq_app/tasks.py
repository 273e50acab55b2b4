"""Thin tasks: one step, then the next ring. The row decides, so each may run twice."""

from celery import shared_task

from channels_app.doorbell import ring_work
from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from dlq_app import recovery, retention


@shared_task(name="dlq_app.remove_old", **RETRIED)
def remove_old() -> None:
    count_moved("dlq_app.remove_old", retention.remove_old())


@shared_task(name="dlq_app.redrive_recovered", **RETRIED)
def redrive_recovered() -> None:
    moved, work = recovery.redrive_recovered()
    ring_work(work)
    count_moved("dlq_app.redrive_recovered", moved)
