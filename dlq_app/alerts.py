"""Too many dead letters in a channel, or one that has waited too long: noticed once an episode."""

import structlog

from broker_project.lib.prepared import fetch

log = structlog.get_logger(__name__)

# Depths are counters, the oldest is one probe of an index: letters are numbered as they enter. A threshold that was
# taken away, or a deleted channel, ends the episode too. BETWEEN: see retention.py.
_WATCH = """
WITH depth AS (
    SELECT channel_id, sum(count)::bigint AS value
    FROM (SELECT channel_id, count FROM counter WHERE kind = 5 AND status = 1
          UNION ALL SELECT channel_id, count FROM counter_delta WHERE kind = 5 AND status = 1) AS parts
    GROUP BY channel_id
), watched AS MATERIALIZED (
    SELECT p.channel_id, p.alert_depth, p.alert_age_seconds
    FROM dead_letter_policy p JOIN channel c ON c.id = p.channel_id WHERE c.deleted_at IS NULL
), measured AS (
    SELECT channel_id, 'depth' AS kind, alert_depth AS threshold, depth.value FROM watched JOIN depth USING (channel_id)
    UNION ALL
    SELECT watched.channel_id, 'age', alert_age_seconds, extract(epoch FROM now() - oldest.entered_at)::bigint
    FROM watched CROSS JOIN LATERAL (
        SELECT entered_at FROM dead_letter l
        WHERE l.channel_id BETWEEN watched.channel_id AND watched.channel_id AND l.resolution IS NULL
        ORDER BY l.channel_id, l.id LIMIT 1
    ) AS oldest
    WHERE alert_age_seconds IS NOT NULL
), crossed AS MATERIALIZED (
    SELECT * FROM measured WHERE value > threshold
), began AS (
    INSERT INTO dead_letter_alert (channel_id, kind, threshold, value)
    SELECT channel_id, kind, threshold, value FROM crossed
    ON CONFLICT (channel_id, kind) WHERE ended_at IS NULL DO NOTHING RETURNING channel_id, kind, threshold, value
), ended AS (
    UPDATE dead_letter_alert a SET ended_at = now()
    WHERE a.ended_at IS NULL
      AND NOT EXISTS (SELECT FROM crossed WHERE crossed.channel_id = a.channel_id AND crossed.kind = a.kind)
    RETURNING channel_id, kind, threshold, value
)
SELECT event, channel.public_id, kind, threshold, value
FROM (SELECT 'began' AS event, began.* FROM began UNION ALL SELECT 'ended', ended.* FROM ended) AS changed
JOIN channel ON channel.id = changed.channel_id
"""


def watch() -> int:
    """Begins and ends alerts; says how many."""
    changed = fetch(_WATCH)
    for event, channel, kind, threshold, value in changed:
        log.warning(f"dead_letters.alert_{event}", channel=channel, kind=kind, threshold=threshold, value=value)
    return len(changed)
