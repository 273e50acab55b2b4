"""Thin tasks: one step, then the next ring. The row decides, so each may run twice."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.utils import timezone

from channels_app.doorbell import doorbell
from channels_app.tasks import RETRIED
from reports_app import making, night, services
from reports_app.bell import EXPORT, MAKE, ring_export, ring_report
from reports_app.models import Report


@shared_task(name="reports_app.make_report", **RETRIED)
def make_report() -> None:
    """The oldest that waits; then the next is rung for."""
    doorbell().answer(MAKE)
    report = Report.objects.queued().order_by("pk").first()
    if report and making.make(report) and Report.objects.queued().exists():
        ring_report()


@shared_task(name="reports_app.export_night", **RETRIED)
def export_night() -> None:
    """Again, if that of the nightly report failed."""
    doorbell().answer(EXPORT)
    if night.export_is_due(timezone.now()):
        night.export(lambda _share, _stage: None)


@shared_task(name="reports_app.sweep_reports", **RETRIED)
def sweep_reports() -> None:
    """What a lost worker left is failed; what nobody rang for is rung for, if there is a worker to hear it."""
    Report.objects.fail_lost()
    if not making.has_worker():
        return
    now = timezone.now()
    services.ask_nightly(now)
    if night.export_is_due(now):
        ring_export()
    if Report.objects.queued().exists() and not Report.objects.running().exists():
        ring_report()


@shared_task(name="reports_app.remove_old_reports", **RETRIED)
def remove_old_reports() -> None:
    services.remove_old()


@worker_ready.connect
def show_that_it_lives(sender: Any, **_kwargs: Any) -> None:
    if "reports" in sender.app.amqp.queues.consume_from:
        making.keep_showing()
