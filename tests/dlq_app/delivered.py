"""Jobs that were delivered, as the engine leaves them."""

from datetime import datetime
from typing import Any

from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, JobStatus, Producer
from tests.channels_app.delivery.rows import make_job


def make_delivered(consumer: Consumer, producer: Producer, at: datetime, **values: Any) -> DeliveryJob:
    job = make_job(consumer, producer, attempt=1, **values)
    deliver(job, at)
    return job


def deliver(job: DeliveryJob, at: datetime) -> None:
    DeliveryAttempt.objects.create(job=job, attempt=job.attempt, status_code=200, duration_ms=1, finished_at=at)
    DeliveryJob.objects.filter(pk=job.pk).update(status=JobStatus.DELIVERED, status_changed_at=at)
