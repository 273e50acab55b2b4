"""Rows made by the statement, millions of them, where coming in by the door would take too long.

They are vacuumed as rows that have been there for a while are, so that autovacuum does not come in between.
"""

from typing import LiteralString

from psycopg import sql

from benchmarks.broker import Broker, Channel

A_STATEMENT = 50_000
# Dispatched already, so that only what a scenario is about is looked for.
MESSAGES: LiteralString = """
INSERT INTO message (channel_id, producer_id, message_id, payload, content_type, priority, headers, status, received_at)
SELECT %(channel)s, 1, 'm-' || n, 'x', 'text/plain', 0, '{}', 101, now()
FROM generate_series(%(first)s::int, %(last)s::int) AS n
"""
JOBS: LiteralString = """
INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, next_attempt_at)
SELECT id, channel_id, %(consumer)s, 0, now() + make_interval(secs => %(wait)s::float8)
FROM message WHERE channel_id = %(channel)s ORDER BY id LIMIT %(count)s
"""
TRIED: LiteralString = """
INSERT INTO delivery_attempt (job_id, attempt, status_code, reason, answer, duration_ms)
SELECT id, 1, 503, 'http_5xx', 'out of order: ' || id, 5 FROM delivery_job WHERE consumer_id = %(consumer)s
"""
DEAD: LiteralString = """
UPDATE delivery_job SET status = 1004, reason = 'http_5xx', attempt = 1, failures = 1, status_changed_at = now()
WHERE id IN (SELECT id FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL
             ORDER BY id LIMIT %(most)s)
"""
SCHEDULED: LiteralString = """
INSERT INTO scheduled_message
    (channel_id, producer_id, message_id, payload, content_type, priority, headers, scheduled_for, due_at)
SELECT %(channel)s, 1, 'later-' || n, 'x', 'text/plain', 0, '{}', due, due
FROM generate_series(%(first)s::int, %(last)s::int) AS n,
     LATERAL (SELECT now() + interval '30 days' + n * interval '1 ms') AS at (due)
"""
WITHOUT_TRIGGERS: LiteralString = "SET session_replication_role = 'replica'"
WITH_TRIGGERS: LiteralString = "RESET session_replication_role"


def add_messages(broker: Broker, channel: Channel, count: int) -> None:
    """With their counters. In pieces, as the triggers keep every new row of a statement in memory."""
    for first in range(1, count + 1, A_STATEMENT):
        last = min(count, first + A_STATEMENT - 1)
        broker.database.execute(MESSAGES, {"channel": channel.row_id, "first": first, "last": last})
    broker.database.execute("VACUUM (ANALYZE) message")


def add_jobs(broker: Broker, channel: Channel, count: int, wait_seconds: float | None = None) -> None:
    """A job for each of the channel's first messages, without counters; ready, or waiting for a retry."""
    told = {"channel": channel.row_id, "consumer": channel.consumers[0], "count": count, "wait": wait_seconds}
    broker.database.execute(WITHOUT_TRIGGERS)
    broker.database.execute(JOBS, told)
    broker.database.execute(WITH_TRIGGERS)
    broker.database.execute("VACUUM (ANALYZE) delivery_job")


def add_dead(broker: Broker, channel: Channel, count: int) -> None:
    """Jobs that died of their first try, with their letters."""
    add_messages(broker, channel, count)
    add_jobs(broker, channel, count)
    told = {"consumer": channel.consumers[0], "most": A_STATEMENT}
    broker.database.execute(TRIED, told)
    while broker.database.execute(DEAD, told).rowcount:
        pass
    for table in ("delivery_job", "delivery_attempt", "dead_letter"):
        broker.database.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))


def add_scheduled(broker: Broker, channel: Channel, first: int, last: int) -> None:
    """For next month, without counters and keys."""
    broker.database.execute(WITHOUT_TRIGGERS)
    for start in range(first, last + 1, 10 * A_STATEMENT):
        told = {"channel": channel.row_id, "first": start, "last": min(last, start + 10 * A_STATEMENT - 1)}
        broker.database.execute(SCHEDULED, told)
    broker.database.execute(WITH_TRIGGERS)
    broker.database.execute("VACUUM (ANALYZE) scheduled_message")
