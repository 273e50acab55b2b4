"""Runs an operation, batch after batch. The cursor moves in the transaction of the batch.

So a worker that is killed has done a batch or has not, the next goes on behind it, and nothing is done twice.
"""

import time

import psycopg
import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from psycopg_pool import PoolTimeout

from channels_app.models import Operation, OperationStatus
from channels_app.operations.kinds import Step, kind_of

log = structlog.get_logger(__name__)

# Not the operation's fault: it stays RUNNING, and is gone on with.
INFRASTRUCTURE = (OperationalError, InterfaceError, psycopg.OperationalError, PoolTimeout, TimeoutError)


def run(operation_id: int, *, seconds: float) -> float:
    """For about so long, as others wait for the thread, or until it has to rest; says for how many seconds."""
    deadline = time.monotonic() + seconds
    while step := run_step(operation_id):
        if step.rest_seconds or time.monotonic() >= deadline:
            return step.rest_seconds
    return 0.0


def run_step(operation_id: int) -> Step | None:
    """One batch; None if there is no more."""
    try:
        _begin(operation_id)
        with transaction.atomic():
            # Held to the end: two runners take turns, and a stop comes between two batches.
            return _step(Operation.objects.select_for_update().get(pk=operation_id))
    except INFRASTRUCTURE:
        raise
    except Exception as error:  # whatever it is, somebody must see it, and the next sweep must not meet it again
        log.exception("operation.failed", operation=operation_id)
        Operation.objects.filter(pk=operation_id).fail(_told(error))
        return None


def _told(error: Exception) -> str:
    """What the database says may hold a row; that is for the log only."""
    name = type(error).__name__
    return f"{name}: see the log" if isinstance(error, DatabaseError) else f"{name}: {error}".replace("\0", "")


def _begin(operation_id: int) -> None:
    """Counting may take long: nothing is locked meanwhile."""
    fresh = Operation.objects.fresh().filter(pk=operation_id)
    for operation in fresh:
        fresh.begin(total=_count(operation))


def _count(operation: Operation) -> int | None:
    try:
        with transaction.atomic():
            return kind_of(operation).count(operation)
    except OperationalError:
        # It took too long. If the connection is lost, the next statement says so.
        return None


def _step(operation: Operation) -> Step | None:
    row = Operation.objects.filter(pk=operation.pk)
    if operation.status == OperationStatus.STOPPING:
        row.stop()
        log.info("operation.stopped", operation=operation.public_id)
    if operation.status != OperationStatus.RUNNING:
        return None
    step = kind_of(operation).step(operation)
    row.advance(cursor=step.cursor, done=step.done, failed=step.failed)
    if step.is_last:
        row.finish()
        log.info("operation.done", operation=operation.public_id)
    return None if step.is_last else step
