"""Thin tasks: one step, then the next ring. The row decides, so each may run twice."""

from celery import shared_task

from broker_project.lib.pg_lock import only_one
from channels_app.doorbell import ring_work
from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from dlq_app import alerts, news, recovery, retention

TELL_LOCK = 7_012


@shared_task(name="dlq_app.remove_old", **RETRIED)
def remove_old() -> None:
    count_moved("dlq_app.remove_old", retention.remove_old())


@shared_task(name="dlq_app.redrive_recovered", **RETRIED)
def redrive_recovered() -> None:
    moved, work = recovery.redrive_recovered()
    ring_work(work)
    count_moved("dlq_app.redrive_recovered", moved)


@shared_task(name="dlq_app.watch", **RETRIED)
def watch() -> None:
    """Begins and ends alerts. Others tell of them: a webhook that hangs holds up no sweep."""
    alerts.watch()


@shared_task(name="dlq_app.tell_alerts", **RETRIED)
def tell_alerts() -> None:
    """In a delivery worker, whose threads are for waiting. One at a time: nobody is told twice."""
    with only_one(TELL_LOCK, patience_seconds=0) as is_ours:
        if is_ours:
            news.tell()
