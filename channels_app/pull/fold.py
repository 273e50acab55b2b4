"""Acks in the order that they came: what each came to, and what they make of the job. No clock, no database.

Forward only: an attempt may say that it began, and ends with the first word that ends it. The same word again is a
duplicate, any other is stale, and neither changes anything.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from channels_app.delivery.retry import Outcome, Policy, decide
from channels_app.reasons import Reason

QUEUED, INFLIGHT, DELIVERED, DEAD = 1001, 1002, 1003, 1004


class AckStatus(StrEnum):
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"
    # Said of one job by its next state only: never again, and given back as if it had not been taken.
    REFUSED = "REFUSED"
    RELEASED = "RELEASED"


class Result(StrEnum):
    APPLIED = "applied"
    DUPLICATE = "duplicate"
    STALE = "stale"
    UNKNOWN = "unknown"


class Ack(NamedTuple):
    """What a consumer says of a job; without an attempt, of the current one. `at` is the device's clock."""

    job_id: int
    status: AckStatus
    attempt: int | None = None
    device_id: str | None = None
    at: datetime | None = None
    error: str = ""
    retry_at: datetime | None = None


class Held(NamedTuple):
    """A job as it is while its row is locked."""

    job_id: int
    consumer_id: int
    status: int
    attempt: int
    failures: int
    is_started: bool
    device_id: str | None
    reason: str | None
    now: datetime
    expires_at: datetime
    # How old its message is; None: the message is gone.
    age_seconds: float | None = None


# How attempts that are over were ended by an ack, by their numbers.
Past = Mapping[int, AckStatus]


class Folded(NamedTuple):
    """A result for each ack; the ack that began the attempt, and the one that ended it."""

    results: list[Result]
    began: Ack | None
    ended: Ack | None


class Move(NamedTuple):
    """What is written. `is_try`: the attempt is over, and kept in the history."""

    job_id: int
    status: int
    began: Ack | None
    ended: Ack | None
    is_try: bool = False
    failures: int = 0
    wait_seconds: float = 0.0
    reason: Reason | None = None

    @property
    def device_id(self) -> str | None:
        said = (ack.device_id for ack in (self.ended, self.began) if ack is not None)
        return next((device_id for device_id in said if device_id is not None), None)

    @property
    def is_ready(self) -> bool:
        return self.status == QUEUED and self.wait_seconds <= 0


def fold(held: Held, acks: Sequence[Ack], past: Past) -> Folded:
    results: list[Result] = []
    began: Ack | None = None
    ended: Ack | None = None
    for ack in acks:
        is_current = ack.attempt is None or ack.attempt == held.attempt
        if not is_current or held.status != INFLIGHT or ended is not None:
            word = ended.status if is_current and ended is not None else _ending(held, ack, past)
            results.append(Result.DUPLICATE if word is ack.status else Result.STALE)
        elif ack.status is not AckStatus.RUNNING:
            ended = ack
            results.append(Result.APPLIED)
        elif held.is_started or began is not None:
            results.append(Result.DUPLICATE)
        else:
            began = ack
            results.append(Result.APPLIED)
    return Folded(results, began, ended)


def named(held: Held, ack: Ack) -> int:
    return held.attempt if ack.attempt is None else ack.attempt


def is_past(held: Held, ack: Ack) -> bool:
    """Whether the history must say how the attempt that it names was ended."""
    return named(held, ack) != held.attempt or held.status in (QUEUED, DEAD)


def _ending(held: Held, ack: Ack, past: Past) -> AckStatus | None:
    is_current = named(held, ack) == held.attempt
    if held.status == DELIVERED and is_current:
        return AckStatus.COMPLETE
    ending = past.get(named(held, ack))
    if held.status == DEAD and is_current and ending is AckStatus.FAILED and ack.status is AckStatus.REFUSED:
        # The history calls both a failure, and both have come to this: never again.
        return AckStatus.REFUSED
    return ending


def move(held: Held, folded: Folded, policy: Policy) -> Move | None:
    """None: nothing changes."""
    began, ended = folded.began, folded.ended
    if ended is None:
        return Move(held.job_id, INFLIGHT, began, None) if began else None
    if ended.status is AckStatus.RELEASED:
        return Move(held.job_id, QUEUED, began, ended)
    if ended.status is AckStatus.COMPLETE:
        return Move(held.job_id, DELIVERED, began, ended, is_try=True)
    outcome = Outcome(reason=Reason.NACKED, error=ended.error)
    verdict = decide(outcome, failures=held.failures, policy=policy)
    if verdict.dead or ended.status is AckStatus.REFUSED:
        return Move(held.job_id, DEAD, began, ended, True, 1, reason=Reason.NACKED)
    wait = _asked_wait(held, ended)
    wait = verdict.wait_seconds if wait is None else wait
    return Move(held.job_id, QUEUED, began, ended, True, verdict.failures, wait, Reason.NACKED)


def _asked_wait(held: Held, ack: Ack) -> float | None:
    """Until the time that it names, if that is to come, and no longer than the job may live: then it expires."""
    if ack.retry_at is None or ack.retry_at <= held.now:
        return None
    return max(timedelta(0), min(ack.retry_at, held.expires_at) - held.now).total_seconds()
