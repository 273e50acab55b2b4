"""Rings for an operation: the sweep does too, so a lost ring costs seconds."""

from channels_app.doorbell import Bell, doorbell


def operation_bell(operation_id: int) -> Bell:
    return Bell("channels_app.run_operation", operation_id)


def ring_operation(operation_id: int) -> None:
    doorbell().ring(operation_bell(operation_id))
