"""Letters that are older than their channel wants them kept: removed with their history; the job stays DEAD."""

import time
from collections.abc import Callable

from django.conf import settings

from broker_project.lib.bound import fetch

MOST = 1_000
# Others wait for the thread; the next sweep goes on.
SWEEP_SECONDS = 5.0
# An app that takes acts elsewhere says which was the last; None: it takes none. Letters with later acts wait for it.
TAKEN_UNTIL: list[Callable[[], int | None]] = []

# Letters are numbered as they enter: the first of a channel is the oldest, and one probe tells whether it must go.
# BETWEEN, in the order of the index: for an equal sign the planner may walk along the letters of all channels.
_CHANNELS = """
SELECT c.id, days FROM channel c LEFT JOIN dead_letter_policy p ON p.channel_id = c.id
CROSS JOIN LATERAL (SELECT coalesce(p.retention_days, nullif(%s::int, 0)) AS days) AS wanted
CROSS JOIN LATERAL (SELECT least(
    (SELECT entered_at FROM dead_letter WHERE channel_id BETWEEN c.id AND c.id AND resolution IS NULL
     ORDER BY channel_id, id LIMIT 1),
    (SELECT entered_at FROM dead_letter WHERE channel_id BETWEEN c.id AND c.id AND resolution IS NOT NULL
     ORDER BY channel_id, id LIMIT 1)
) AS entered_at) AS oldest
WHERE oldest.entered_at < now() - make_interval(days => days) ORDER BY c.id
"""
# The first ones by number, and of these the old ones: by time alone, the rest of the index would be looked through.
# Locked ones are somebody's who resolves them: they are found the next time. One whose job is on its way again stays:
# if it dies again, its history and how often it has entered still count.
_REMOVE = """
WITH first AS MATERIALIZED (
    (SELECT id, entered_at FROM dead_letter
     WHERE channel_id BETWEEN %(channel)s::bigint AND %(channel)s::bigint AND resolution IS NULL
     ORDER BY channel_id, id LIMIT %(most)s::bigint)
    UNION ALL
    (SELECT id, entered_at FROM dead_letter
     WHERE channel_id BETWEEN %(channel)s::bigint AND %(channel)s::bigint AND resolution IS NOT NULL
     ORDER BY channel_id, id LIMIT %(most)s::bigint)
), held AS MATERIALIZED (
    SELECT l.id, l.job_id FROM dead_letter l JOIN first ON first.id = l.id LEFT JOIN delivery_job j ON j.id = l.job_id
    WHERE first.entered_at < now() - make_interval(days => %(days)s::int) AND (j.status IS NULL OR j.status > 1002)
      AND (%(until)s::bigint IS NULL
           OR NOT EXISTS (SELECT FROM dead_letter_act a WHERE a.job_id = l.job_id AND a.id > %(until)s::bigint))
    ORDER BY l.id FOR UPDATE OF l SKIP LOCKED
), forgotten AS (
    DELETE FROM dead_letter_act a USING held WHERE a.job_id = held.job_id
)
DELETE FROM dead_letter l USING held WHERE l.id = held.id RETURNING l.id
"""


def remove_old() -> int:
    """A batch in a transaction, until none is left or the time is over; says how many went."""
    deadline = time.monotonic() + SWEEP_SECONDS
    channels = fetch(_CHANNELS, [settings.DEAD_LETTER_RETENTION_DAYS])
    return sum(_remove_from(channel_id, days, deadline) for channel_id, days in channels)


def _remove_from(channel_id: int, days: int, deadline: float) -> int:
    removed = 0
    while time.monotonic() < deadline:
        rows = fetch(_REMOVE, {"channel": channel_id, "days": days, "most": MOST, "until": _taken_until()})
        removed += len(rows)
        if len(rows) < MOST:
            break
    return removed


def _taken_until() -> int | None:
    """By everybody who takes any."""
    told = [last for ask in TAKEN_UNTIL if (last := ask()) is not None]
    return min(told, default=None)
