"""What a consumer has and has not acknowledged, by device; and what a device had that died goes back at once."""

from dataclasses import dataclass
from datetime import datetime

from broker_project.lib.bound import fetch

# So many rows are looked at: as many as a consumer may have in flight.
MOST_HELD = 100_000
MOST_DEVICES = 20

# Along job_in_flight. What a worker of ours is sending is nobody's yet.
_HELD = """
SELECT device_id, count(*), min(received_at), count(*) OVER (), sum(count(*)) OVER (), min(min(received_at)) OVER (),
       (sum(sum(failures)) OVER () / sum(count(*)) OVER ())::float8
FROM (
    SELECT device_id, received_at, failures FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1002 AND received_at IS NOT NULL
    ORDER BY lease_until LIMIT %(most)s
) AS held
GROUP BY device_id ORDER BY count(*) DESC, device_id LIMIT %(devices)s
"""
_COUNT = """
SELECT count(*) FROM delivery_job
WHERE consumer_id = %(consumer)s AND status = 1002 AND received_at IS NOT NULL AND device_id = %(device)s
"""
# By id, as acks do it. The attempt stays: a late word of the device is stale, for it has the job no more.
_RELEASE = """
WITH held AS MATERIALIZED (
    SELECT id FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1002 AND received_at IS NOT NULL AND device_id = %(device)s
    ORDER BY id FOR UPDATE
)
UPDATE delivery_job j SET status = 1001, lease_until = NULL, next_attempt_at = NULL, status_changed_at = now()
FROM held WHERE j.id = held.id RETURNING j.id
"""
_HELD_BY = """
SELECT id FROM (
    SELECT id, device_id FROM delivery_job WHERE status = 1002 ORDER BY consumer_id, lease_until LIMIT %(most)s
) AS held WHERE device_id = %(device)s
"""


@dataclass(frozen=True)
class Device:
    """How much it has, and since when it has the oldest. Without a name: all that named none."""

    device_id: str | None
    count: int
    oldest_at: datetime


@dataclass(frozen=True)
class Unacked:
    """The devices that have the most; and of all of them how many jobs, the oldest, and their failures so far."""

    devices: list[Device]
    device_count: int
    count: int
    oldest_at: datetime
    failures: float


def unacked(consumer_id: int) -> Unacked | None:
    """None: it has nothing."""
    rows = fetch(_HELD, {"consumer": consumer_id, "most": MOST_HELD, "devices": MOST_DEVICES})
    if not rows:
        return None
    *_, device_count, count, oldest_at, failures = rows[0]
    return Unacked([Device(*row[:3]) for row in rows], device_count, int(count), oldest_at, failures)


def count_held(consumer_id: int, device_id: str) -> int:
    return int(fetch(_COUNT, {"consumer": consumer_id, "device": device_id})[0][0])


def release(consumer_id: int, device_id: str) -> int:
    """No failure; says how many jobs wait for their turn again."""
    return len(fetch(_RELEASE, {"consumer": consumer_id, "device": device_id}))


def held_by(device_id: str) -> list[int]:
    """The jobs that this device has, of whatever consumer: among those in flight, and nowhere else."""
    return [row[0] for row in fetch(_HELD_BY, {"device": device_id, "most": MOST_HELD})]
