"""The circuit breaker of a consumer: a pure decision on its failures in a row."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

OPENS_AT_FAILURES = 50
OPENS_AT_JOBS = 10
OPEN_SECONDS = 30.0


class BreakerState(StrEnum):
    """Open: jobs wait. Half open: its time is over, and one job is sent to see."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True)
class Breaker:
    """The failures in a row and the first jobs among them: one bad job alone never opens it."""

    streak: int = 0
    jobs: tuple[int, ...] = ()
    is_open: bool = False

    def after(self, tries: Iterable[tuple[int, bool]]) -> "Breaker":
        """`tries` are jobs and whether the consumer took them, in the order in which they ended."""
        breaker = self
        for job_id, ok in tries:
            breaker = Breaker() if ok else breaker._failed(job_id)
        return breaker

    def _failed(self, job_id: int) -> "Breaker":
        known = job_id in self.jobs or len(self.jobs) >= OPENS_AT_JOBS
        jobs = self.jobs if known else (*self.jobs, job_id)
        streak = self.streak + 1
        enough = streak >= OPENS_AT_FAILURES and len(jobs) >= OPENS_AT_JOBS
        return Breaker(streak, jobs, self.is_open or enough)
