"""The rows of a history: each a function of the seed and of its message's number, made where they are stored.

A chunk is a few hours. It is told in temporary tables first (messages, jobs, tries), then written as the engine would
have left it. Triggers stay on, so that the counters are right; a statement a chunk costs them next to nothing.
"""

# From 0 to below 1, the same for the same seed, number and question.
CHANCE = """
CREATE OR REPLACE FUNCTION pg_temp.chance(seed bigint, number bigint, question bigint) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$
    SELECT (hashint8extended(number, seed * 100 + question) & 4294967295)::float8 / 4294967296::float8
$$
"""

# By `place`, not by row id: a history is the same on any database.
CAST = """
CREATE TEMPORARY TABLE told_channel (channel_id bigint, since float8, until float8, for_later float8, pulls boolean);
CREATE TEMPORARY TABLE told_consumer (consumer_id bigint, channel_id bigint, place int, fails float8, reason text,
    error text, status_code int, seconds float8, dies_at float8);
"""

MESSAGES = """
CREATE TEMPORARY TABLE told_message AS
SELECT n, %(before_message)s + n AS id, part.channel_id, part.pulls,
       (%(producers)s::bigint[])[
           1 + floor(cardinality(%(producers)s::bigint[]) * pg_temp.chance(%(seed)s, n, 3) ^ 2)::int
       ] AS producer_id,
       format('h%%s-%%s', %(seed)s, n) AS message_id,
       hour.start + (n - hour.first + pg_temp.chance(%(seed)s, n, 1)) / hour.count * interval '1 hour' AS received_at,
       CASE WHEN pg_temp.chance(%(seed)s, n, 4) < 0.05 THEN 5 ELSE 0 END AS priority,
       convert_to(format('{"number": %%s, "text": "%%s"}', n,
           repeat('lorem ', (12 * pg_temp.chance(%(seed)s, n, 5) ^ 3)::int)), 'UTF8') AS payload,
       pg_temp.chance(%(seed)s, n, 6) < part.for_later AS for_later, n / %(messages)s::float8 AS progress
FROM unnest(%(starts)s::timestamptz[], %(firsts)s::bigint[], %(counts)s::bigint[]) AS hour (start, first, count)
CROSS JOIN LATERAL (
    SELECT n, pg_temp.chance(%(seed)s, n, 2) AS share FROM generate_series(hour.first, hour.first + hour.count - 1) AS n
    OFFSET 0
) AS drawn
JOIN told_channel part ON share >= part.since AND share < part.until
"""

# A try fails with its consumer's likelihood: so many fail in a row before one does not, and four are the end.
JOBS = """
CREATE TEMPORARY TABLE told_job AS
SELECT %(before_job)s + row_number() OVER (ORDER BY m.n, k.place) AS id, m.n * 8 + k.place AS number,
       m.id AS message_id, m.channel_id, m.pulls, m.priority, k.*, fate.*,
       m.received_at + (0.004 + 0.03 * pg_temp.chance(%(seed)s, m.n, 7)) * interval '1 second' AS created_at,
       least(failed, 4) + CASE WHEN failed < 4 OR fate = 'requeued' THEN 1 ELSE 0 END AS tries
FROM told_message m
JOIN (SELECT consumer_id, channel_id AS of_channel, place, fails, reason, error, status_code, seconds, dies_at
      FROM told_consumer) AS k ON k.of_channel = m.channel_id
CROSS JOIN LATERAL (
    SELECT floor(ln(greatest(pg_temp.chance(%(seed)s, m.n * 8 + k.place, 8), 1e-9))
                 / ln(CASE WHEN m.progress >= k.dies_at THEN 0.97 ELSE k.fails END))::int AS failed,
           CASE WHEN pg_temp.chance(%(seed)s, m.n * 8 + k.place, 9) < 0.4 THEN 'requeued'
                WHEN pg_temp.chance(%(seed)s, m.n * 8 + k.place, 9) < 0.6 THEN 'discarded' END AS fate
) AS fate
"""

# Waits of 1, 2 and 4 seconds, as channels have them; one that was queued again was so within the hour.
TRIES = """
CREATE TEMPORARY TABLE told_try AS
SELECT job_id, attempt, is_last, failed, seconds, number,
       begun + (sum(seconds) OVER (PARTITION BY job_id ORDER BY attempt) + 2 ^ least(attempt - 1, 3) - 1
                + CASE WHEN attempt = 5 THEN 600 + 2400 * pg_temp.chance(%(seed)s, number, 10) ELSE 0 END)
               * interval '1 second' AS finished_at
FROM (
    SELECT j.id AS job_id, i AS attempt, i = j.tries AS is_last, i <= least(j.failed, 4) AS failed, j.number,
           CASE WHEN i <= j.failed AND j.reason = 'timeout' AND i < 5 THEN 30.0
                ELSE j.seconds * (0.25 - 0.6 * ln(greatest(pg_temp.chance(%(seed)s, j.number, 10 + i), 1e-6)))
           END AS seconds,
           j.created_at + CASE WHEN j.pulls THEN 8 * pg_temp.chance(%(seed)s, j.number, 20) ELSE 0 END
                          * interval '1 second' AS begun
    FROM told_job j CROSS JOIN LATERAL generate_series(1, j.tries) AS i
) AS tried
"""

WRITE = (
    """
INSERT INTO message (id, channel_id, producer_id, message_id, payload, content_type, priority, partition, headers,
                     status, sequence, received_at, dispatched_at)
OVERRIDING SYSTEM VALUE
SELECT m.id, m.channel_id, producer_id, message_id, payload, 'application/json', priority, 0, '{}', 101,
       state.last_sequence + row_number() OVER (PARTITION BY m.channel_id ORDER BY m.id), received_at,
       received_at + CASE WHEN for_later THEN interval '0' ELSE interval '4 ms' END
FROM told_message m JOIN channel_state state ON state.channel_id = m.channel_id ORDER BY m.id
""",
    """
UPDATE channel_state state SET last_sequence = last_sequence + told.count
FROM (SELECT channel_id, count(*) AS count FROM told_message GROUP BY channel_id) AS told
WHERE state.channel_id = told.channel_id
""",
    """
INSERT INTO message_key (channel_id, message_id, row_id)
SELECT channel_id, message_id, id FROM told_message ORDER BY channel_id, message_id
""",
    # Dispatched, most of them at once; and in a hundred three that were cancelled instead, a little later.
    """
INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, priority, headers, status,
                               scheduled_for, due_at, created_at, dispatched_at, status_changed_at)
SELECT channel_id, producer_id, message_id, payload, 'application/json', priority, '{}', 101, due_at, due_at,
       due_at - horizon, received_at, received_at
FROM told_message CROSS JOIN LATERAL (
    SELECT received_at - least(30, 0.01 - 0.05 * ln(greatest(pg_temp.chance(%(seed)s, n, 21), 1e-9))
           * CASE WHEN pg_temp.chance(%(seed)s, n, 22) < 0.02 THEN 100 ELSE 1 END) * interval '1 second' AS due_at,
           CASE floor(4 * pg_temp.chance(%(seed)s, n, 23))
                WHEN 0 THEN interval '2 minutes' WHEN 1 THEN interval '1 hour'
                WHEN 2 THEN interval '1 day' ELSE interval '7 days' END
           * (1 + pg_temp.chance(%(seed)s, n, 24)) AS horizon
) AS times WHERE for_later ORDER BY n
""",
    """
WITH cancelled AS (
    INSERT INTO scheduled_message (channel_id, producer_id, message_id, payload, content_type, priority, headers,
                                   status, scheduled_for, due_at, created_at, status_changed_at)
    SELECT channel_id, producer_id, message_id || '-cancelled', payload, 'application/json', priority, '{}', 102,
           received_at, received_at, received_at - interval '1 day',
           received_at - pg_temp.chance(%(seed)s, n, 25) * interval '20 hours'
    FROM told_message WHERE for_later AND pg_temp.chance(%(seed)s, n, 26) < 0.03 ORDER BY n
    RETURNING id, channel_id, message_id
)
INSERT INTO message_key (channel_id, message_id, row_id, scheduled)
SELECT channel_id, message_id, id, true FROM cancelled ORDER BY channel_id, message_id
""",
    """
INSERT INTO delivery_job (id, message_id, channel_id, consumer_id, priority, status, attempt, failures, reason,
                          received_at, started_at, device_id, created_at, expires_at, status_changed_at)
OVERRIDING SYSTEM VALUE
SELECT j.id, message_id, channel_id, consumer_id, priority, CASE WHEN is_dead THEN 1004 ELSE 1003 END, t.attempt,
       CASE WHEN tries = 5 THEN 0 ELSE least(j.failed, 4) END, CASE WHEN is_dead THEN reason END,
       CASE WHEN pulls THEN begun END, CASE WHEN pulls THEN begun + interval '50 ms' END,
       CASE WHEN pulls THEN 'device-' || j.number / 8 %% 20 END, created_at, created_at + interval '1 day',
       t.finished_at
FROM told_job j JOIN told_try t ON t.job_id = j.id AND t.is_last
CROSS JOIN LATERAL (SELECT t.failed AS is_dead, t.finished_at - t.seconds * interval '1 second' AS begun) AS known
ORDER BY j.id
""",
    """
INSERT INTO delivery_attempt (job_id, attempt, status_code, reason, error, answer, duration_ms, device_id, finished_at)
SELECT j.id, t.attempt, CASE WHEN pulls THEN NULL WHEN t.failed THEN status_code ELSE 200 END,
       CASE WHEN t.failed THEN reason END, CASE WHEN t.failed THEN error ELSE '' END,
       CASE WHEN t.failed AND status_code IS NOT NULL THEN 'try again, request ' || j.number ELSE '' END,
       greatest(1, t.seconds * 1000)::int, CASE WHEN pulls THEN 'device-' || j.number / 8 %% 20 END, t.finished_at
FROM told_try t JOIN told_job j ON j.id = t.job_id ORDER BY t.finished_at, j.number, t.attempt
""",
    # The letter is of the fourth try.
    """
WITH died AS MATERIALIZED (
    SELECT j.*, t.finished_at AS entered_at,
           CASE fate WHEN 'requeued' THEN last.finished_at - last.seconds * interval '1 second'
                WHEN 'discarded' THEN t.finished_at + interval '20 minutes' END AS resolved_at,
           coalesce(nullif(error, ''), format('HTTP %%s: try again, request %%s', status_code, j.number)) AS told
    FROM told_job j JOIN told_try t ON t.job_id = j.id AND t.attempt = 4 AND t.failed
    JOIN told_try last ON last.job_id = j.id AND last.is_last
), letters AS (
    INSERT INTO dead_letter (job_id, message_id, channel_id, consumer_id, reason, error, fingerprint, attempts,
                             entered_at, resolution, resolved_at, resolved_by)
    SELECT id, message_id, channel_id, consumer_id, reason, told, error_fingerprint(reason, told), 4, entered_at, fate,
           resolved_at, CASE WHEN fate IS NOT NULL THEN 'history' END
    FROM died ORDER BY entered_at, number
)
INSERT INTO dead_letter_act (job_id, act, reason, attempt, by, at)
SELECT id, act, act_reason, 4, by, at FROM died CROSS JOIN LATERAL (
    VALUES ('entered', reason, '', entered_at), (fate, NULL, 'history', resolved_at)
) AS acts (act, act_reason, by, at)
WHERE act IS NOT NULL ORDER BY at, number
""",
    "DROP TABLE told_message, told_job, told_try",
)
