"""What is told of failed tries: one line for all of a batch that failed alike, or a storm drowns in its own log."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from channels_app.delivery.claim import Job
from channels_app.delivery.settle import Settled
from channels_app.reasons import ADVICE, Reason

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Failure:
    """`attempt` is n of m. Without a wait it was the last."""

    channel: str
    consumer: str
    attempt: str
    reason: Reason
    status_code: int | None
    error: str
    wait_seconds: float | None

    @classmethod
    def of(cls, one: Settled, reason: Reason) -> "Failure":
        return cls(
            channel=one.target.channel,
            consumer=one.target.consumer,
            attempt=f"{one.job.failures + one.verdict.failures} of {one.target.retries + 1}",
            reason=reason,
            status_code=one.outcome.status_code,
            error=one.outcome.error,
            wait_seconds=None if one.verdict.dead else one.verdict.wait_seconds,
        )

    def tell(self, jobs: list[Job]) -> None:
        facts = {
            "channel": self.channel,
            "consumer": self.consumer,
            "messages": [job.message_id for job in jobs],
            "jobs": [job.job_id for job in jobs],
            "attempt": self.attempt,
            "reason": self.reason.value,
            "status_code": self.status_code,
        }
        if self.wait_seconds is None:
            log.warning("delivery.dead", **facts, error=self.error, advice=ADVICE[self.reason])
        else:
            due = datetime.now(UTC) + timedelta(seconds=self.wait_seconds)
            log.info("delivery.retry", **facts, next_attempt_at=due.isoformat(timespec="milliseconds"))


def tell(settled: Iterable[Settled]) -> None:
    alike: defaultdict[Failure, list[Job]] = defaultdict(list)
    for one in settled:
        if one.outcome.reason is not None:
            alike[Failure.of(one, one.outcome.reason)].append(one.job)
    for failure, jobs in alike.items():
        failure.tell(jobs)
