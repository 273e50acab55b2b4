"""After acks have been committed: they are told, counted, and rung for."""

import structlog

from channels_app.api.pull.waiting import desk
from channels_app.doorbell import doorbell, ring_deliver, ring_promote
from channels_app.models import JobStatus
from channels_app.pull.ack import Acked, Moved
from channels_app.pull.fold import INFLIGHT
from channels_app.pull.measure import measure_acks

log = structlog.get_logger(__name__)


def after(acked: Acked) -> None:
    for one in acked.moved:
        _tell(one)
    measure_acks(acked)
    _ring(acked.moved)


def _tell(moved: Moved) -> None:
    """A line for each ack that changed something."""
    held, move, acker = moved
    facts = {"channel": acker.channel, "consumer": acker.consumer, "job": held.job_id, "attempt": held.attempt}
    device = move.device_id or held.device_id
    if move.began is not None:
        log.info("ack", **facts, old="INFLIGHT", new="RUNNING", device=device)
    if move.ended is not None:
        old = "RUNNING" if move.began is not None or held.is_started else "INFLIGHT"
        log.info("ack", **facts, old=old, new=JobStatus(move.status).name, device=device)


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
