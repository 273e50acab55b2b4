"""What a message comes to over all its jobs: a pure word on values."""

from collections.abc import Collection
from enum import StrEnum

from channels_app.models import DeliveryJob, JobStatus, Message, MessageStatus


class TaskStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


def task_status(message: Message, jobs: Collection[DeliveryJob]) -> TaskStatus:
    """A message that nobody wanted is complete; one whose jobs are yet to be made is queued."""
    if message.status == MessageStatus.ACKNOWLEDGED:
        return TaskStatus.QUEUED
    if all(job.is_final for job in jobs):
        return TaskStatus.FAILED if any(job.status == JobStatus.DEAD for job in jobs) else TaskStatus.COMPLETE
    return TaskStatus.RUNNING if any(map(_has_begun, jobs)) else TaskStatus.QUEUED


def _has_begun(job: DeliveryJob) -> bool:
    return job.status != JobStatus.QUEUED or job.started_at is not None
