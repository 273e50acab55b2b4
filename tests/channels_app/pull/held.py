"""Jobs that a consumer has, as a lease would leave them, and acks of them."""

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone
from psycopg import AsyncConnection

from channels_app.models import Consumer, DeliveryAttempt, DeliveryJob, Producer
from channels_app.pull.ack import Acked, Batch, acknowledge
from channels_app.pull.fold import Ack, AckStatus, Result
from tests.channels_app.delivery.rows import make_job, on_a_loop

RUNNING, COMPLETE, FAILED = AckStatus.RUNNING, AckStatus.COMPLETE, AckStatus.FAILED
APPLIED, DUPLICATE, STALE, UNKNOWN = Result.APPLIED, Result.DUPLICATE, Result.STALE, Result.UNKNOWN
QUEUED, INFLIGHT, DELIVERED, DEAD = 1001, 1002, 1003, 1004


def lease(job: DeliveryJob, seconds: float = 60.0, **values: Any) -> DeliveryJob:
    """The consumer has it from now on."""
    now = timezone.now()
    DeliveryJob.objects.filter(pk=job.pk).update(
        **{
            "status": INFLIGHT,
            "attempt": F("attempt") + 1,
            "next_attempt_at": None,
            "lease_until": now + timedelta(seconds=seconds),
            "received_at": now,
            "started_at": None,
            **values,
        }
    )
    job.refresh_from_db()
    return job


def make_leased(consumer: Consumer, producer: Producer, seconds: float = 60.0, **values: Any) -> DeliveryJob:
    return lease(make_job(consumer, producer), seconds, **values)


def ack(consumer: Consumer, *acks: Ack) -> list[Result]:
    """What each came to."""
    return acked(consumer, *acks).results[0]


def acked(consumer: Consumer, *acks: Ack) -> Acked:
    async def say(own: AsyncConnection) -> Acked:
        return await acknowledge(own, [Batch(consumer.pk, consumer.ack_timeout_seconds, acks)])

    return on_a_loop(say)


def tries(job: DeliveryJob) -> list[tuple[int, str | None]]:
    return list(DeliveryAttempt.objects.filter(job=job).order_by("pk").values_list("attempt", "reason"))
