"""The Celery application; its settings are in settings/celery.py."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")

app = Celery("broker_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
