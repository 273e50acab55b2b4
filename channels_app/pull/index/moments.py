"""Which index a moment stands for: the next message is then the first one received at or after it."""

import re
from datetime import UTC, datetime

from broker_project.lib.errors import BrokerError

# Messages are numbered in the order in which they are dispatched, and that is never before they are received; the clock
# of a dispatch is read when its transaction begins, a little before it numbers. So the place of the moment a minute
# before is found by halving, and the rest is walked.
_SLACK_SECONDS = 60

INDEX_BEFORE = f"""
WITH RECURSIVE halving AS (
    SELECT 0::bigint AS low, last_sequence AS high FROM channel_state WHERE channel_id = %(channel)s
    UNION ALL
    SELECT CASE WHEN is_before THEN middle ELSE low END, CASE WHEN is_before THEN high ELSE middle - 1 END
    FROM (
        SELECT low, high, (low + high + 1) / 2 AS middle, coalesce((
            SELECT m.dispatched_at < %(at)s - interval '{_SLACK_SECONDS} seconds' FROM message m
            WHERE m.channel_id = %(channel)s AND m.sequence >= (low + high + 1) / 2 ORDER BY m.sequence LIMIT 1
        ), false) AS is_before
        FROM halving WHERE low < high
    ) AS step
)
SELECT coalesce(
    (SELECT m.sequence - 1 FROM message m
     WHERE m.channel_id = %(channel)s AND m.sequence > (SELECT max(low) FROM halving) AND m.received_at >= %(at)s
     ORDER BY m.sequence LIMIT 1),
    (SELECT last_sequence FROM channel_state WHERE channel_id = %(channel)s)
)
"""  # noqa: S608

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class InvalidTime(BrokerError):
    """A time is RFC 3339 with a zone, such as 2026-01-31T12:00:00Z."""


def moment(text: object) -> datetime:
    if not isinstance(text, str) or not text.isascii() or not _RFC_3339.fullmatch(text):
        raise InvalidTime
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidTime from None
