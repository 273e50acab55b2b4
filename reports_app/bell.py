"""Rings for the oldest report that waits: the sweep does too, so a lost ring costs seconds."""

from channels_app.doorbell import Bell, doorbell

MAKE = Bell("reports_app.make_report")


def ring_report() -> None:
    doorbell().ring(MAKE)
