"""Rings for an operation: the sweep does too, so a lost ring costs seconds."""

from channels_app.doorbell import Bell, doorbell

GRAIN_SECONDS = 0.05


def operation_bell(operation_id: int) -> Bell:
    return Bell("channels_app.run_operation", operation_id)


def ring_operation(operation_id: int, in_seconds: float = 0.0) -> None:
    bell = operation_bell(operation_id)
    doorbell().ring(bell.later(in_seconds, GRAIN_SECONDS) if in_seconds else bell)
