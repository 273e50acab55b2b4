"""Thin tasks: one step each. The rows decide, so each may run twice."""

from celery import shared_task

from channels_app.doorbell import Bell, doorbell
from channels_app.metrics.activity import count_moved
from channels_app.tasks import RETRIED
from reports_app.making import has_worker
from watch_app import record as recorder
from watch_app import rollups

FILL = Bell("watch_app.fill_hours")


@shared_task(name="watch_app.record", **RETRIED)
def record() -> None:
    count_moved("watch_app.record", recorder.record())


@shared_task(name="watch_app.remove_old", **RETRIED)
def remove_old() -> None:
    recorder.remove_old()


@shared_task(name="watch_app.look_at_lake", **RETRIED)
def look_at_lake() -> None:
    """Rings when the lake has something new, if there is a worker to hear it."""
    if has_worker() and rollups.news():
        doorbell().ring(FILL)


@shared_task(name="watch_app.fill_hours", **RETRIED)
def fill_hours() -> None:
    doorbell().answer(FILL)
    rollups.fill()
