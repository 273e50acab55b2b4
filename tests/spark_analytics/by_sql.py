"""Every figure of every report by plain SQL over the broker's own tables, with nothing of Spark's in it.

In place of quantiles there are the sorted values that they are of: `seconds` for p50, p95, p99; `ack_seconds` for
ack_p50 and so on.
"""

from spark_analytics.asked import Asked
from spark_analytics.statuses import NOT_FAILED
from tests.spark_analytics.reading import Row, select

_MESSAGES = """
WITH chosen AS (
    SELECT date_trunc('hour', m.received_at, 'UTC') AS hour,
           (extract(epoch FROM date_trunc('hour', m.received_at, 'UTC') - %(start)s) / 3600)::int AS hours_in,
           c.public_id AS channel, p.public_id AS producer,
           octet_length(m.payload) AS bytes
    FROM message m JOIN channel c ON c.id = m.channel_id JOIN producer p ON p.id = m.producer_id
    WHERE m.received_at >= %(start)s AND m.received_at < %(end)s
      AND (%(channels)s::text[] = '{}' OR c.public_id = ANY (%(channels)s))
)
"""
_JOBS = """
WITH chosen AS (
    SELECT j.*, date_trunc('hour', j.created_at, 'UTC') AS hour,
           (extract(epoch FROM date_trunc('hour', j.created_at, 'UTC') - %(start)s) / 3600)::int AS hours_in,
           c.public_id AS channel, k.public_id AS consumer,
           extract(epoch FROM j.status_changed_at - m.received_at)::float8 AS latency,
           extract(epoch FROM j.status_changed_at - j.received_at)::float8 AS ack
    FROM delivery_job j JOIN channel c ON c.id = j.channel_id JOIN consumer k ON k.id = j.consumer_id
    LEFT JOIN message m ON m.id = j.message_id
    WHERE j.created_at >= %(start)s AND j.created_at < %(end)s
      AND (%(channels)s::text[] = '{}' OR c.public_id = ANY (%(channels)s))
)
"""
_SCHEDULED = """
WITH chosen AS (
    SELECT s.*, date_trunc('hour', s.due_at, 'UTC') AS hour,
           (extract(epoch FROM date_trunc('hour', s.due_at, 'UTC') - %(start)s) / 3600)::int AS hours_in,
           c.public_id AS channel,
           CASE WHEN s.status = 101 THEN extract(epoch FROM s.dispatched_at - s.due_at)::float8 END AS lag,
           CASE WHEN s.scheduled_for <= s.created_at + interval '1 minute' THEN 1
                WHEN s.scheduled_for <= s.created_at + interval '1 hour' THEN 2
                WHEN s.scheduled_for <= s.created_at + interval '24 hours' THEN 3
                WHEN s.scheduled_for <= s.created_at + interval '168 hours' THEN 4 ELSE 5 END AS place
    FROM scheduled_message s JOIN channel c ON c.id = s.channel_id
    WHERE s.due_at >= %(start)s AND s.due_at < %(end)s
      AND (%(channels)s::text[] = '{}' OR c.public_id = ANY (%(channels)s))
)
"""
_ATTEMPTS = """
WITH chosen AS (
    SELECT a.*, (a.reason <> ALL (%(not_failed)s)) IS TRUE AS is_failed, c.public_id AS channel, k.public_id AS consumer
    FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id
    JOIN channel c ON c.id = j.channel_id JOIN consumer k ON k.id = j.consumer_id
    WHERE a.finished_at >= %(start)s AND a.finished_at < %(end)s
      AND (%(channels)s::text[] = '{}' OR c.public_id = ANY (%(channels)s))
)
"""
_ACTS = """
acts AS (
    SELECT a.*, date_trunc('hour', a.at, 'UTC') AS hour,
           (extract(epoch FROM date_trunc('hour', a.at, 'UTC') - %(start)s) / 3600)::int AS hours_in,
           c.public_id AS channel, k.public_id AS consumer
    FROM dead_letter_act a JOIN delivery_job j ON j.id = a.job_id
    JOIN channel c ON c.id = j.channel_id JOIN consumer k ON k.id = j.consumer_id
    WHERE a.at >= %(start)s AND a.at < %(end)s
      AND (%(channels)s::text[] = '{}' OR c.public_id = ANY (%(channels)s))
)
"""

SQL: dict[str, tuple[str, ...]] = {
    "throughput": (
        _MESSAGES,
        """
        SELECT hour, hours_in, channel, count(*) AS messages, sum(bytes) AS bytes
        FROM chosen GROUP BY hour, hours_in, channel ORDER BY hour, channel COLLATE "C" """,
    ),
    "delivery": (
        _JOBS,
        """
        SELECT channel, consumer, count(*) AS jobs,
               count(*) FILTER (WHERE status = 1003) AS delivered, count(*) FILTER (WHERE status = 1004) AS dead,
               count(*) FILTER (WHERE status IN (1001, 1002)) AS open,
               count(*) FILTER (WHERE status = 1003)::float8
                   / nullif(count(*) FILTER (WHERE status IN (1003, 1004)), 0) AS success_rate,
               count(*) FILTER (WHERE attempt >= 1) AS tried, count(*) FILTER (WHERE attempt >= 2) AS retried,
               count(*) FILTER (WHERE attempt >= 2)::float8
                   / nullif(count(*) FILTER (WHERE attempt >= 1), 0) AS retry_rate,
               sum(attempt) AS attempts, sum(failures) AS failures, array_agg(latency ORDER BY latency)
                   FILTER (WHERE status = 1003 AND latency IS NOT NULL) AS seconds
        FROM chosen GROUP BY channel, consumer ORDER BY channel COLLATE "C", consumer COLLATE "C" """,
    ),
    "latency": (
        _JOBS,
        """
        SELECT hour, hours_in, channel, count(latency) AS delivered, array_agg(latency ORDER BY latency)
                   FILTER (WHERE latency IS NOT NULL) AS seconds,
               count(ack) AS acknowledged, array_agg(ack ORDER BY ack) FILTER (WHERE ack IS NOT NULL) AS ack_seconds
        FROM chosen WHERE status = 1003 AND (latency IS NOT NULL OR ack IS NOT NULL)
        GROUP BY hour, hours_in, channel ORDER BY hour, channel COLLATE "C" """,
    ),
    "sla": (
        _JOBS,
        """, finished AS (
            SELECT channel, consumer, count(*) AS finished,
                   count(*) FILTER (WHERE status = 1003 AND latency <= %(sla)s) AS in_time
            FROM chosen WHERE status = 1004 OR (status = 1003 AND latency IS NOT NULL) GROUP BY channel, consumer
        )
        SELECT channel, consumer, %(sla)s::float8 AS target_seconds, finished, in_time,
               in_time::float8 / finished AS attainment
        FROM finished ORDER BY attainment, channel COLLATE "C", consumer COLLATE "C" """,
    ),
    "scheduler_lag": (
        _SCHEDULED,
        """
        SELECT hour, hours_in, channel, count(*) AS messages, count(*) FILTER (WHERE status = 100) AS waiting,
               count(*) FILTER (WHERE status = 101) AS dispatched, count(*) FILTER (WHERE status = 102) AS cancelled,
               count(*) FILTER (WHERE status = 103) AS set_aside,
               array_agg(lag ORDER BY lag) FILTER (WHERE lag IS NOT NULL) AS seconds
        FROM chosen GROUP BY hour, hours_in, channel ORDER BY hour, channel COLLATE "C" """,
    ),
    "lateness": (
        _SCHEDULED,
        """
        SELECT (ARRAY['minute', 'hour', 'day', 'week', 'more'])[place] AS horizon, count(*) AS messages,
               count(lag) AS dispatched, array_agg(lag ORDER BY lag) FILTER (WHERE lag IS NOT NULL) AS seconds,
               count(*) FILTER (WHERE lag <= 1)::float8 / nullif(count(lag), 0) AS within_1s,
               count(*) FILTER (WHERE lag <= 10)::float8 / nullif(count(lag), 0) AS within_10s,
               count(*) FILTER (WHERE lag <= 60)::float8 / nullif(count(lag), 0) AS within_60s
        FROM chosen GROUP BY place ORDER BY place""",
    ),
    "dead_letters": (
        _JOBS,
        ",",
        _ACTS,
        """, entered AS (
            SELECT channel, consumer, reason, count(*) AS n FROM acts WHERE act = 'entered' GROUP BY 1, 2, 3
        ), dead AS (
            SELECT channel, consumer, reason, count(*) AS n FROM chosen WHERE status = 1004 GROUP BY 1, 2, 3
        )
        SELECT channel, consumer, reason, coalesce(entered.n, 0) AS entered, coalesce(dead.n, 0) AS dead
        FROM entered FULL JOIN dead USING (channel, consumer, reason)
        ORDER BY 4 DESC, 5 DESC, channel COLLATE "C", consumer COLLATE "C", reason COLLATE "C" """,
    ),
    "dead_letter_growth": (
        "WITH",
        _ACTS,
        """, counted AS (
            SELECT hour, hours_in, channel, count(*) FILTER (WHERE act = 'entered') AS entered,
                   count(*) FILTER (WHERE act IN ('requeued', 'edited', 'discarded')) AS resolved
            FROM acts GROUP BY hour, hours_in, channel
        )
        SELECT hour, hours_in, channel, entered, resolved, entered - resolved AS growth,
               (SELECT sum(o.entered - o.resolved) FROM counted o WHERE o.channel = counted.channel
                AND o.hour <= counted.hour) AS grown_so_far
        FROM counted ORDER BY hour, channel COLLATE "C" """,
    ),
    "failing_consumers": (
        _ATTEMPTS,
        """
        SELECT channel, consumer, count(*) AS attempts, count(*) FILTER (WHERE is_failed) AS failed,
               count(*) FILTER (WHERE is_failed)::float8 / count(*) AS failure_rate,
               (SELECT o.reason FROM chosen o WHERE o.is_failed
                AND (o.channel, o.consumer) = (chosen.channel, chosen.consumer)
                GROUP BY o.reason ORDER BY count(*) DESC, o.reason COLLATE "C" DESC LIMIT 1) AS main_reason,
               sum(duration_ms)::float8 / (count(*) * 1000) AS mean_seconds
        FROM chosen GROUP BY channel, consumer HAVING bool_or(is_failed)
        ORDER BY failed DESC, channel COLLATE "C", consumer COLLATE "C" """,
    ),
    "retries": (
        _ATTEMPTS,
        """
        SELECT least(attempt, 10) AS attempt, count(*) AS attempts, count(*) - count(reason) AS succeeded,
               count(reason) AS failed, (count(*) - count(reason))::float8 / count(*) AS success_rate,
               (count(*) - count(reason))::float8
                   / nullif((SELECT count(*) FROM chosen WHERE reason IS NULL), 0) AS share_of_successes
        FROM chosen GROUP BY least(attempt, 10) ORDER BY 1""",
    ),
    "producers": (
        _MESSAGES,
        """
        SELECT producer, channel, count(*) AS messages, sum(bytes) AS bytes,
               sum(bytes)::float8 / count(*) AS mean_bytes,
               count(DISTINCT hour) AS active_hours, max(hour) AS last_hour
        FROM chosen GROUP BY producer, channel
        ORDER BY messages DESC, producer COLLATE "C", channel COLLATE "C" """,
    ),
    "heat_map": (
        _MESSAGES,
        """, cells AS (
            SELECT extract(isodow FROM h AT TIME ZONE 'UTC')::int AS day_of_week,
                   extract(hour FROM h AT TIME ZONE 'UTC')::int AS hour_of_day, count(*) AS hours
            FROM generate_series(%(start)s, %(end)s - interval '1 hour', interval '1 hour') AS h GROUP BY 1, 2
        ), busy AS (
            SELECT extract(isodow FROM hour AT TIME ZONE 'UTC')::int AS day_of_week,
                   extract(hour FROM hour AT TIME ZONE 'UTC')::int AS hour_of_day, count(*) AS messages
            FROM chosen GROUP BY 1, 2
        )
        SELECT day_of_week, hour_of_day, messages, hours, messages::float8 / hours AS messages_per_hour
        FROM busy JOIN cells USING (day_of_week, hour_of_day) ORDER BY 1, 2""",
    ),
}


def figures_by_sql(asked: Asked) -> dict[str, list[Row]]:
    told = {
        "start": asked.start,
        "end": asked.end,
        "channels": list(asked.channels),
        "sla": asked.sla_seconds,
        "not_failed": list(NOT_FAILED),
    }
    return {name: select(" ".join(parts), told) for name, parts in SQL.items()}
