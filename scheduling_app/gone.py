"""Messages for later whose channel was deleted: cancelled, however far ahead they are."""

from broker_project.lib.bound import fetch

MOST = 1_000

# Channel by channel, by skipping along the index of what is due: rows are not looked at.
_CHANNELS = """
WITH RECURSIVE found AS (
    (SELECT channel_id FROM scheduled_message WHERE status = 100 ORDER BY channel_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.channel_id FROM scheduled_message s WHERE s.status = 100 AND s.channel_id > found.channel_id
            ORDER BY s.channel_id LIMIT 1)
    FROM found WHERE found.channel_id IS NOT NULL
)
SELECT channel.id FROM found JOIN channel ON channel.id = found.channel_id WHERE channel.deleted_at IS NOT NULL
"""
# Locked rows are somebody's who changes them: they are found the next time.
_CANCEL = """
WITH waiting AS MATERIALIZED (
    SELECT id FROM scheduled_message WHERE channel_id = %(channel)s::bigint AND status = 100
    ORDER BY id LIMIT %(most)s::bigint FOR UPDATE SKIP LOCKED
)
UPDATE scheduled_message s SET status = 102, reason = 'channel_gone', status_changed_at = now()
FROM waiting WHERE s.id = waiting.id RETURNING s.id
"""


def cancel_gone() -> int:
    """A batch in a transaction, until none is left; says how many it moved."""
    return sum(_cancel_all(channel_id) for [channel_id] in fetch(_CHANNELS))


def _cancel_all(channel_id: int) -> int:
    moved = 0
    while rows := fetch(_CANCEL, {"channel": channel_id, "most": MOST}):
        moved += len(rows)
    return moved
