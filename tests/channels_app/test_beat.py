"""Beat and the tasks it sends."""

from typing import Any

import pytest
from django.conf import settings
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import ModelEntry

from broker_project.celery import app
from channels_app import tasks
from channels_app.beat import ProgressScheduler
from channels_app.models import Progress

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", settings.CELERY_BEAT_SCHEDULE)
def test_a_sweep_that_nobody_picks_up_expires_before_the_next(name: str) -> None:
    entry: dict[str, Any] = settings.CELERY_BEAT_SCHEDULE[name]

    # As a worker does when it starts.
    app.loader.import_default_modules()
    ModelEntry.from_entry(name, app=app, **entry)

    kept = PeriodicTask.objects.get(name=name)
    assert kept.expire_seconds == entry["schedule"].total_seconds()
    assert kept.task in app.tasks


def test_each_part_leaves_a_sign_of_its_work() -> None:
    tasks.report_dispatch_progress()
    tasks.report_delivery_progress()
    ProgressScheduler(app=app, lazy=True)._mark()

    assert set(Progress.objects.values_list("name", flat=True)) == {"dispatch", "delivery", "beat"}
