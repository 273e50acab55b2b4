"""Whatever moves a job, a message for later or a channel's sequence says so in `flow`: a row per group and statement.

Only moves count, not rows that come in as they will stay: a made-up history is not of now.
"""

from django.db import migrations

# As in watch_app/histogram.py; a test compares them.
EDGES = ", ".join(f"{10 ** (number / 6 - 3):.6f}" for number in range(49))
PLACE = "width_bucket(date_part('epoch', {seconds}), ARRAY[" + EDGES + "]::float8[])"

# A try failed if it took something of the budget, or if its job has to wait: that of a probe, which costs nothing. What
# was given back, expired or lost with its worker did not fail: its consumer has no part in it.
FAILED = "s.status = 1002 AND (f.failures > s.failures OR f.next_attempt_at IS NOT NULL)"
SINCE_ACCEPTED = """
    now() - coalesce((SELECT m.received_at FROM message m WHERE m.id = moved.message_id), moved.created_at)
"""

# Planned once per session, perhaps for the one job of a quiet hour or an empty table: the plan must do for thousands.
JOBS = f"""
CREATE FUNCTION note_job_flow() RETURNS trigger LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh WHERE status <> 1002) THEN
        RETURN NULL;
    END IF;
    INSERT INTO flow (channel_id, consumer_id, measure, place, count)
    SELECT channel_id, consumer_id, measure,
           CASE measure WHEN 2 THEN {PLACE.format(seconds=SINCE_ACCEPTED)} ELSE 0 END AS place, count(*)
    FROM (
        SELECT f.channel_id, f.consumer_id, f.message_id, f.created_at, unnest(
            CASE WHEN f.status = 1003 THEN ARRAY[2]
                 WHEN f.status = 1004 AND {FAILED} THEN ARRAY[3, 4]
                 WHEN f.status = 1004 THEN ARRAY[4]
                 WHEN {FAILED} THEN ARRAY[3] END
        ) AS measure
        FROM fresh f JOIN stale s ON s.id = f.id WHERE f.status <> s.status AND f.status <> 1002
    ) AS moved
    GROUP BY channel_id, consumer_id, measure, 4;
    RETURN NULL;
END $$;
CREATE TRIGGER note_flow AFTER UPDATE ON delivery_job
REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_job_flow();
"""
NO_JOBS = "DROP TRIGGER note_flow ON delivery_job; DROP FUNCTION note_job_flow();"

SCHEDULED = f"""
CREATE FUNCTION note_scheduled_flow() RETURNS trigger LANGUAGE plpgsql SET enable_nestloop = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh WHERE status = 101) THEN
        RETURN NULL;
    END IF;
    INSERT INTO flow (channel_id, consumer_id, measure, place, count)
    SELECT f.channel_id, 0, 5, {PLACE.format(seconds="coalesce(f.dispatched_at, now()) - f.due_at")} AS place, count(*)
    FROM fresh f JOIN stale s ON s.id = f.id WHERE f.status = 101 AND s.status = 100
    GROUP BY f.channel_id, 4;
    RETURN NULL;
END $$;
CREATE TRIGGER note_flow AFTER UPDATE ON scheduled_message
REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_scheduled_flow();
"""
NO_SCHEDULED = "DROP TRIGGER note_flow ON scheduled_message; DROP FUNCTION note_scheduled_flow();"

# Not on messages: publishing would pay for it. A place in the sequence is given once and never taken back. Whoever
# writes a past sets broker.past.
ACCEPTED = """
CREATE FUNCTION note_accepted_flow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO flow (channel_id, consumer_id, measure, place, count)
    VALUES (NEW.channel_id, 0, 1, 0, NEW.last_sequence - OLD.last_sequence);
    RETURN NULL;
END $$;
CREATE TRIGGER note_flow AFTER UPDATE OF last_sequence ON channel_state FOR EACH ROW
WHEN (NEW.last_sequence > OLD.last_sequence AND current_setting('broker.past', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION note_accepted_flow();
"""
NO_ACCEPTED = "DROP TRIGGER note_flow ON channel_state; DROP FUNCTION note_accepted_flow();"

# Counts by place, from what was counted, and of two together.
HISTOGRAMS = """
CREATE FUNCTION flow_histogram(places int[], counts int[]) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(coalesce(given.count, 0) ORDER BY place), '{}')
    FROM generate_series(0, (SELECT max(one) FROM unnest(places) AS one)) AS place
    LEFT JOIN unnest(places, counts) AS given (place, count) USING (place)
$$;
CREATE FUNCTION flow_added(one int[], other int[]) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN one = '{}' THEN other WHEN other = '{}' THEN one ELSE (
        SELECT array_agg(coalesce(a, 0) + coalesce(b, 0) ORDER BY place)
        FROM unnest(one, other) WITH ORDINALITY AS given (a, b, place)
    ) END
$$;
"""
NO_HISTOGRAMS = "DROP FUNCTION flow_added(int[], int[]); DROP FUNCTION flow_histogram(int[], int[]);"

# Both are small and never at rest. Room on the page, so that a step that grows stays where it is.
VACUUM = """
ALTER TABLE flow SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE watch_recorded SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.05);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("watch_app", "0001_initial"),
        ("channels_app", "0014_ttl_index"),
        ("scheduling_app", "0006_querator"),
    ]

    operations = [
        migrations.RunSQL(HISTOGRAMS, NO_HISTOGRAMS),
        migrations.RunSQL(JOBS, NO_JOBS),
        migrations.RunSQL(SCHEDULED, NO_SCHEDULED),
        migrations.RunSQL(ACCEPTED, NO_ACCEPTED),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
    ]
