"""After acks have been committed: they are told, counted, and rung for."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import structlog

from channels_app.api.pull.waiting import desk
from channels_app.doorbell import doorbell, ring_deliver, ring_promote
from channels_app.models import JobStatus
from channels_app.pull.ack import Acked, Moved
from channels_app.pull.fold import INFLIGHT
from channels_app.pull.measure import measure_acks
from channels_app.reasons import ADVICE, Reason

log = structlog.get_logger(__name__)

NAMES = {status.value: status.name for status in JobStatus}


def after(acked: Acked) -> None:
    _tell(acked.moved)
    measure_acks(acked)
    _ring(acked.moved)


class _Step(NamedTuple):
    """What acks of several jobs have in common."""

    channel: str
    consumer: str
    old: str
    new: str
    device: str | None
    # Of one that died.
    reason: Reason | None = None


def _tell(moved: Sequence[Moved]) -> None:
    """Every ack that changed something, with its job and attempt; a line for those that made the same step."""
    steps: defaultdict[_Step, list[str]] = defaultdict(list)
    for one in moved:
        for step in _steps(one):
            steps[step].append(f"{one.held.job_id}/{one.held.attempt}")
    for step, jobs in steps.items():
        if step.reason is None:
            log.info("ack", **step._asdict(), jobs=jobs)
        else:
            log.warning("ack", **step._asdict(), jobs=jobs, advice=ADVICE[step.reason])


def _steps(moved: Moved) -> Iterator[_Step]:
    held, move, acker = moved
    device = move.device_id or held.device_id
    if move.began is not None:
        yield _Step(acker.channel, acker.consumer, "INFLIGHT", "RUNNING", device)
    if move.ended is not None:
        old = "RUNNING" if move.began is not None or held.is_started else "INFLIGHT"
        reason = move.reason if move.status == JobStatus.DEAD else None
        yield _Step(acker.channel, acker.consumer, old, NAMES[move.status], device, reason)


def _ring(moved: list[Moved]) -> None:
    """A slot is free, a job is ready again, or will be soon."""
    for consumer_id in {one.acker.consumer_id for one in moved if one.acker.is_push and one.move.status != INFLIGHT}:
        ring_deliver(consumer_id)
    freed = {one.acker.consumer_id for one in moved if not one.acker.is_push and one.move.status != INFLIGHT}
    desk().hint(freed)
    ready = {one.acker.consumer_id for one in moved if one.move.is_ready and not one.acker.is_push}
    if ready:
        doorbell().hint(ready)
    for wait in {one.move.wait_seconds for one in moved if one.move.wait_seconds > 0}:
        ring_promote(wait)
