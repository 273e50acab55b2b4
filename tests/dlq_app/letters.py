"""Jobs that died, and their letters."""

from typing import Any

from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, JobStatus, Producer
from dlq_app.models import DeadLetter
from tests.channels_app.delivery.rows import make_job


def make_dead(consumer: Consumer, producer: Producer, *, reason: str = "http_5xx", **attempt: Any) -> DeadLetter:
    """As the engine ends a job: the attempt is written, the job is DEAD, the trigger does the rest."""
    job = make_job(consumer, producer, attempt=1)
    die(job, reason=reason, **attempt)
    return DeadLetter.objects.get(job=job)


def die(job: DeliveryJob, *, reason: str = "http_5xx", **attempt: Any) -> None:
    told = {"error": "", "status_code": 503, "answer": "", "duration_ms": 1, **attempt}
    DeliveryAttempt.objects.create(job=job, attempt=job.attempt, reason=reason, **told)
    DeliveryJob.objects.filter(pk=job.pk).update(status=JobStatus.DEAD, reason=reason)
