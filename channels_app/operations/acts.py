"""Start, stop and resume an operation. Each act is in the log and in the row, with who asked for it."""

from functools import partial
from typing import Any

import structlog
from django.db import transaction

from channels_app.errors import OperationEnded, OperationNotStopped
from channels_app.models import Channel, Operation
from channels_app.operations.bell import ring_operation

log = structlog.get_logger(__name__)


def start(*, kind: str, channel: Channel | None, parameters: dict[str, Any], until: int | None, by: str) -> Operation:
    """`until`: the last row that there is now; what comes in later is not meant."""
    operation = Operation.objects.create(kind=kind, channel=channel, parameters=parameters, until=until, asked_by=by)
    operation.refresh_from_db(fields=["created_at", "done", "failed", "cursor"])
    log.info("operation.started", operation=operation.public_id, kind=kind, parameters=parameters, by=by)
    _ring(operation)
    return operation


def stop(*, operation: Operation, by: str) -> None:
    if not Operation.objects.filter(pk=operation.pk).ask_to_stop(by=by):
        raise OperationEnded
    _acted("operation.asked_to_stop", operation, by)


def resume(*, operation: Operation, by: str) -> None:
    if not Operation.objects.filter(pk=operation.pk).resume(by=by):
        raise OperationNotStopped
    _acted("operation.resumed", operation, by)


def _acted(act: str, operation: Operation, by: str) -> None:
    log.info(act, operation=operation.public_id, by=by)
    operation.refresh_from_db()
    _ring(operation)


def _ring(operation: Operation) -> None:
    transaction.on_commit(partial(ring_operation, operation.pk))
