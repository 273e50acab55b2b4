"""What a consumer says of a job: running, complete, failed."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from broker_client.outgoing import rfc3339
from broker_client.values import Job

# The broker keeps the beginning; nobody needs a stack of a megabyte.
MOST_ERROR_CHARACTERS = 2_000


@dataclass(frozen=True)
class Ack:
    """`at` is this device's clock; the broker keeps its own beside it, and that decides."""

    job_id: str
    attempt: int
    status: str
    error: str = ""
    retry_at: datetime | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        if self.retry_at is not None and self.retry_at.tzinfo is None:
            raise ValueError("retry_at needs a time zone.")

    @classmethod
    def running(cls, job: Job) -> "Ack":
        return cls(job.id, job.attempt, "RUNNING")

    @classmethod
    def complete(cls, job: Job) -> "Ack":
        return cls(job.id, job.attempt, "COMPLETE")

    @classmethod
    def failed(cls, job: Job, error: str, *, retry_at: datetime | None = None) -> "Ack":
        """Tried again by the consumer's retry policy, or at `retry_at`."""
        return cls(job.id, job.attempt, "FAILED", short(error), retry_at)

    def document(self, device_id: str) -> dict[str, Any]:
        said = {
            "jobId": self.job_id,
            "attempt": self.attempt,
            "status": self.status,
            "deviceId": device_id,
            "timestamp": rfc3339(self.at),
            "error": self.error or None,
            "retryAt": rfc3339(self.retry_at) if self.retry_at else None,
        }
        return {name: value for name, value in said.items() if value is not None}


def short(error: str) -> str:
    # NUL stands in no text of the broker's.
    return error.replace("\0", "")[:MOST_ERROR_CHARACTERS]
