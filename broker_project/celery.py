"""The Celery application; its settings are in settings/celery.py."""

import os
from typing import Any

from celery import Celery
from django.conf import settings
from kombu.transport.redis import Channel

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")


def _celery_settings() -> dict[str, Any]:
    """Only the CELERY_ names: Flower shows all that Celery knows, and it need not know the database's password."""
    ours = (name for name in dir(settings) if name.startswith("CELERY_"))
    return {name.removeprefix("CELERY_").lower(): getattr(settings, name) for name in ours}


# Rings that a worker still holds are not given back to Redis, which may be gone: the sweeps ring again.
Channel.do_restore = False

app = Celery("broker_project")
app.add_defaults(_celery_settings)
app.autodiscover_tasks()
app.autodiscover_tasks(["reports_app.prune"])
