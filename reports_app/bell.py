"""Rings for the oldest report that waits: the sweep does too, so a lost ring costs seconds."""

from channels_app.doorbell import Bell, doorbell

MAKE = Bell("reports_app.make_report")
EXPORT = Bell("reports_app.export_night")


def ring_report() -> None:
    doorbell().ring(MAKE)


def ring_export() -> None:
    doorbell().ring(EXPORT)
