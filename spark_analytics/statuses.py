"""The statuses that figures are about, by the numbers that the database has for them."""

from enum import IntEnum


class JobStatus(IntEnum):
    QUEUED = 1001
    INFLIGHT = 1002
    DELIVERED = 1003
    DEAD = 1004


class ScheduledStatus(IntEnum):
    WAITING = 100
    DISPATCHED = 101
    CANCELLED = 102
    SET_ASIDE = 103


# The reasons of attempts that ended without their consumer's doing; empty where nothing failed.
NOT_FAILED = ("", "worker_lost", "expired", "consumer_gone", "channel_gone")
