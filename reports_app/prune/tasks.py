"""The sweep as a task. The rows decide, so it may run twice."""

from celery import shared_task

from channels_app.doorbell import Bell, doorbell
from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from reports_app.prune import sweep

PRUNE = Bell("reports_app.prune")


@shared_task(name=PRUNE.task, **RETRIED)
def prune() -> None:
    """Every minute. What there was no time for is rung for at once: others have their turn in between."""
    doorbell().answer(PRUNE)
    swept = sweep.sweep()
    count_moved(PRUNE.task, swept.gone.total)
    if swept.has_more:
        doorbell().ring(PRUNE)
