"""What comes when: pages of what is due, channel by channel or all together, and how much in each of the next hours."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from broker_project.lib.bound import fetch
from channels_app.models.channel import MAX_PARTITIONS

HOURS = 24
# An hour with more is told as so many "or more": the picture costs the same, whatever is due.
MOST_IN_AN_HOUR = 5_000
EVER = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)

# The words of the index scheduled_due_all.
_WAITING = "status = 100 AND dispatched_at IS NULL"

_DUE = f"""
SELECT due_at, id FROM scheduled_message
WHERE {_WAITING} AND (due_at, id) > (%(after)s::timestamptz, %(after_id)s::bigint) AND due_at < %(until)s::timestamptz
ORDER BY due_at, id LIMIT %(most)s::bigint
"""  # noqa: S608
# The index of a channel is sorted by partition first: a page of each, and the first of all these.
_DUE_IN_CHANNEL = f"""
SELECT one.due_at, one.id FROM generate_series(0, {MAX_PARTITIONS - 1}) AS lane (partition) CROSS JOIN LATERAL (
    SELECT due_at, id FROM scheduled_message
    WHERE channel_id = %(channel)s::bigint AND partition = lane.partition AND status = 100
      AND (due_at, id) > (%(after)s::timestamptz, %(after_id)s::bigint) AND due_at < %(until)s::timestamptz
    ORDER BY due_at, id LIMIT %(most)s::bigint
) AS one
ORDER BY one.due_at, one.id LIMIT %(most)s::bigint
"""  # noqa: S608
_COUNTED = f"""
SELECT (SELECT count(*) FROM (
    SELECT 1 FROM scheduled_message
    WHERE {_WAITING} AND due_at >= since AND due_at < until LIMIT {MOST_IN_AN_HOUR}
) AS found)
FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[]) WITH ORDINALITY AS span (since, until, place)
ORDER BY place
"""  # noqa: S608


class Place(NamedTuple):
    """A message's place in the order of what is due."""

    due_at: datetime
    id: int


@dataclass(frozen=True)
class Window:
    """From a time up to, and without, another."""

    since: datetime
    until: datetime


@dataclass(frozen=True)
class Hour:
    """How many are due in an hour of the clock, counted up to a limit."""

    since: datetime
    count: int

    @property
    def is_more(self) -> bool:
        return self.count == MOST_IN_AN_HOUR


@dataclass(frozen=True)
class Outlook:
    """What is late, and the hours to come, the one that has begun first."""

    overdue: Hour
    hours: list[Hour]

    @property
    def total(self) -> int:
        return sum(hour.count for hour in self.hours)

    @property
    def busiest(self) -> Hour:
        return max(self.hours, key=lambda hour: hour.count)

    @property
    def is_more(self) -> bool:
        return any(hour.is_more for hour in self.hours)


def due(window: Window, *, most: int, channel_id: int | None = None, after: Place | None = None) -> list[Place]:
    """What waits and is due in this window, the soonest first, from a place on."""
    # No row has the id 0: what is due just when the window opens comes after it.
    start = after or Place(window.since, 0)
    parameters = {"after": start.due_at, "after_id": start.id, "until": window.until, "most": most}
    if channel_id is None:
        return [Place(*row) for row in fetch(_DUE, parameters)]
    return [Place(*row) for row in fetch(_DUE_IN_CHANNEL, {**parameters, "channel": channel_id})]


def outlook(now: datetime) -> Outlook:
    first = now.replace(minute=0, second=0, microsecond=0)
    windows = [Window(first + number * _HOUR, first + (number + 1) * _HOUR) for number in range(HOURS)]
    # Of the hour that has begun, the part that is left.
    spans = [Window(EVER, now), Window(now, windows[0].until), *windows[1:]]
    edges = {"since": [one.since for one in spans], "until": [one.until for one in spans]}
    counts = [count for (count,) in fetch(_COUNTED, edges)]
    hours = [Hour(window.since, count) for window, count in zip(windows, counts[1:], strict=True)]
    return Outlook(Hour(EVER, counts[0]), hours)
