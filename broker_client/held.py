"""The jobs that a consumer holds, what has become of each, and what the broker is still to be told."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock

from broker_client.acks import Ack
from broker_client.values import Job
from broker_client.verdicts import Reject, Retry

log = logging.getLogger("broker_client")

# A job that was lost may come back: the same id, another attempt.
Key = tuple[str, int]


def _key(held: Job | Ack) -> Key:
    return (held.id if isinstance(held, Job) else held.job_id), held.attempt


class Held:
    """Iterating gives the jobs that were leased. Safe for the thread that works and the one that beats."""

    def __init__(self, channel: str, consumer: str, *, lease_seconds: float, jobs: Iterable[Job] = ()) -> None:
        self.channel, self.consumer, self.lease_seconds = channel, consumer, lease_seconds
        self._lock = Lock()
        self._open: dict[Key, Job] = {}
        self._begun: set[Key] = set()
        self._acks: list[Ack] = []
        self._rejected: list[tuple[Job, str]] = []
        self.add(jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.open_jobs())

    def __len__(self) -> int:
        return len(self._open)

    def add(self, jobs: Iterable[Job]) -> None:
        with self._lock:
            self._open |= {_key(job): job for job in jobs}

    @contextmanager
    def working(self, job: Job) -> Iterator[Job]:
        """Running, then complete; or failed by what is raised, which rises on. Retry and Reject are heeded here."""
        self.begin(job)
        try:
            yield job
        except Retry as verdict:
            self.fail(job, str(verdict), retry_at=verdict.at)
        except Reject as verdict:
            self.reject(job, str(verdict))
        except Exception as error:
            self.fail(job, f"{type(error).__name__}: {error}")
            raise
        else:
            self.complete(job)

    def begin(self, job: Job) -> None:
        with self._lock:
            self._begun.add(_key(job))
            self._acks.append(Ack.running(job))

    def complete(self, job: Job) -> None:
        self._end(job, Ack.complete(job))

    def fail(self, job: Job, error: str, *, retry_at: datetime | None = None) -> None:
        self._end(job, Ack.failed(job, error, retry_at=retry_at))

    def reject(self, job: Job, error: str) -> None:
        """Dead at once."""
        if self.let_go(job):
            with self._lock:
                self._rejected.append((job, error))

    def let_go(self, job: Job) -> bool:
        """It is not held any more. False: it was not."""
        with self._lock:
            self._begun.discard(_key(job))
            return self._open.pop(_key(job), None) is not None

    def open_jobs(self) -> list[Job]:
        with self._lock:
            return list(self._open.values())

    def not_begun(self) -> list[Job]:
        with self._lock:
            return [job for key, job in self._open.items() if key not in self._begun]

    def holds(self, job: Job) -> bool:
        return _key(job) in self._open

    def lose(self, what: Job | Ack) -> None:
        """Its lease has ended, and it may be another's: whatever becomes of it here, nobody is told."""
        with self._lock:
            self._begun.discard(_key(what))
            self._open.pop(_key(what), None)
        log.warning("Attempt %s of job %s is not ours any more.", what.attempt, _key(what)[0])

    def take_acks(self) -> list[Ack]:
        with self._lock:
            taken, self._acks = self._acks, []
            return taken

    def put_back(self, acks: list[Ack]) -> None:
        """They could not be sent; they go before what came meanwhile."""
        with self._lock:
            self._acks = acks + self._acks

    def take_rejected(self) -> list[tuple[Job, str]]:
        with self._lock:
            taken, self._rejected = self._rejected, []
            return taken

    def put_back_rejected(self, rejected: list[tuple[Job, str]]) -> None:
        with self._lock:
            self._rejected = rejected + self._rejected

    def _end(self, job: Job, ack: Ack) -> None:
        """The first word counts, and only while the job is held."""
        if self.let_go(job):
            with self._lock:
                self._acks.append(ack)
