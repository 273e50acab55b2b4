"""Step 2: a message becomes one job per consumer."""

from dataclasses import dataclass

from psycopg import AsyncConnection

from broker_project.lib.bound import fetch
from channels_app.delivery.work import WHO, Work

MOST_JOBS = 2_000

# The channels with messages waiting, by skipping along the index: DISTINCT would read every waiting row.
_WAITING = """
WITH RECURSIVE waiting AS (
    (SELECT channel_id FROM message WHERE status = 100 ORDER BY channel_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.channel_id FROM message m WHERE m.status = 100 AND m.channel_id > w.channel_id
            ORDER BY m.channel_id LIMIT 1)
    FROM waiting w WHERE w.channel_id IS NOT NULL
)
"""
_CHANNELS = "SELECT channel_id FROM waiting WHERE channel_id IS NOT NULL"

# What `numbered` holds (id, priority, partition, ends_at, of one channel) becomes a job for each consumer. It waits no
# longer than the channel allows, nor than the message's own end. The dispatch of scheduled messages makes its jobs by
# the same words.
MAKE_JOBS = """
    INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, expires_at, has_ttl)
    SELECT numbered.id, channel.id, consumer.id, numbered.priority, numbered.partition,
           least(now() + make_interval(secs => channel.max_age_seconds), numbered.ends_at),
           nullif(numbered.ends_at IS NOT NULL, false)
    FROM numbered CROSS JOIN channel JOIN consumer ON consumer.channel_id = channel.id
    JOIN consumer_state ON consumer_state.consumer_id = consumer.id
    WHERE channel.id = %(channel)s::bigint AND consumer.deleted_at IS NULL AND consumer_state.disabled_at IS NULL
    ORDER BY numbered.id
    RETURNING consumer_id
"""

# One channel per statement. The state row serialises fan-outs of a channel: its sequence has no gap.
_FAN_OUT = f"""
WITH taken AS MATERIALIZED (
    SELECT id, priority, partition, received_at + make_interval(secs => ttl_seconds) AS ends_at FROM message
    WHERE channel_id = %(channel)s::bigint AND status = 100 ORDER BY id LIMIT %(most)s::bigint FOR UPDATE SKIP LOCKED
), state AS (
    UPDATE channel_state SET last_sequence = last_sequence + (SELECT count(*) FROM taken)
    WHERE channel_id = %(channel)s::bigint RETURNING last_sequence - (SELECT count(*) FROM taken) AS before
), numbered AS (
    SELECT id, priority, partition, ends_at, state.before + row_number() OVER (ORDER BY id) AS sequence
    FROM taken, state
), made AS (
    {MAKE_JOBS}
), moved AS (
    UPDATE message SET status = 101, dispatched_at = now(), sequence = numbered.sequence
    FROM numbered WHERE message.id = numbered.id RETURNING message.id
)
SELECT (SELECT count(*) FROM moved), work.* FROM ({WHO}) AS work
"""  # noqa: S608
_CONSUMERS = "SELECT count(*) FROM consumer WHERE channel_id = %s::bigint AND deleted_at IS NULL"


# By the oldest of each channel that waits.
_LEFT_OVER = """
SELECT EXISTS (
    SELECT FROM waiting CROSS JOIN LATERAL (
        SELECT received_at FROM message m WHERE m.channel_id = waiting.channel_id AND m.status = 100
        ORDER BY m.id LIMIT 1
    ) AS oldest
    WHERE oldest.received_at < now() - interval '1 second'
)
"""


@dataclass(frozen=True)
class FannedOut:
    """How many messages were dispatched, and who has work now."""

    messages: int
    work: Work


def waiting_channels() -> list[int]:
    return [row[0] for row in fetch(_WAITING + _CHANNELS)]


def has_left_over() -> bool:
    return bool(fetch(_WAITING + _LEFT_OVER)[0][0])


def fan_out(channel_id: int) -> FannedOut:
    """One batch of one channel, in one transaction."""
    consumers = fetch(_CONSUMERS, [channel_id])[0][0]
    most = MOST_JOBS // max(1, consumers) or 1
    messages, *who = fetch(_FAN_OUT, {"channel": channel_id, "most": most})[0]
    return FannedOut(messages, Work.of(*who))


async def fan_out_on(connection: AsyncConnection, channel_id: int, most: int) -> FannedOut:
    """The oldest messages of one channel, in the transaction that stored the last of them."""
    cursor = await connection.execute(_FAN_OUT, {"channel": channel_id, "most": most})
    row = await cursor.fetchone()
    assert row is not None
    return FannedOut(row[0], Work.of(*row[1:]))
