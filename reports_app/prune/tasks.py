"""The sweep as a task. The rows decide, so it may run twice."""

from celery import shared_task

from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from reports_app.prune import sweep


@shared_task(name="reports_app.prune", **RETRIED)
def prune() -> None:
    count_moved("reports_app.prune", sweep.sweep().total)
