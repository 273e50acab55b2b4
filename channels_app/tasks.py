"""Thin tasks: load, call one step, ring the next. The row decides, so each may run twice."""

from typing import Any

from celery import shared_task
from django.db import OperationalError

from channels_app.models import Progress

# Trouble of the infrastructure, not of a consumer: tried again with a growing, random wait.
RETRIED: dict[str, Any] = {
    "autoretry_for": (OperationalError,),
    "retry_backoff": True,
    "retry_jitter": True,
    "max_retries": 5,
}


@shared_task(name="channels_app.report_dispatch_progress", **RETRIED)
def report_dispatch_progress() -> None:
    """Shows that beat, Redis and the dispatch worker work together."""
    Progress.objects.mark("dispatch")


@shared_task(name="channels_app.report_delivery_progress", **RETRIED)
def report_delivery_progress() -> None:
    Progress.objects.mark("delivery")
