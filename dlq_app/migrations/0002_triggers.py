"""A job that dies leaves a letter, whoever ended it; open letters are counted."""

from importlib import import_module

from django.db import migrations

count = import_module("channels_app.migrations.0003_state_and_counter_triggers").count
# 1: open, 2: resolved.
LETTER = "5 AS kind, channel_id, consumer_id, CASE WHEN resolution IS NULL THEN 1 ELSE 2 END AS status, reason"

# Numbers, ids and what stands in quotes differ from letter to letter of one cause.
FINGERPRINT = r"""
CREATE FUNCTION error_fingerprint(reason text, error text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(reason || ' ' || regexp_replace(regexp_replace(
        lower(error), '"[^"]*"|''[^'']*''', '?', 'g'), '[0-9a-f]{8}[0-9a-f-]*|[0-9]+', '#', 'g'), 0)
$$;
"""
NO_FINGERPRINT = "DROP FUNCTION error_fingerprint(text, text);"

# After the statement, so that the attempt which it has written is seen. By attempt, not by id: the index on the job
# is the one to use, whatever the statistics say.
DIED = """
SELECT f.id, f.message_id, f.channel_id, f.consumer_id, f.reason, f.attempt, left(coalesce(last.error, ''), 1024) AS error
FROM {dead} JOIN channel c ON c.id = f.channel_id
LEFT JOIN LATERAL (
    SELECT coalesce(nullif(a.error, ''), 'HTTP ' || a.status_code || coalesce(': ' || nullif(left(a.answer, 200), ''), ''))
           AS error
    FROM delivery_attempt a WHERE a.job_id = f.id ORDER BY a.attempt DESC, a.id DESC LIMIT 1
) AS last ON true
WHERE f.status = 1004 AND c.dead_letters = 'keep'
"""
ENTER = """
INSERT INTO dead_letter AS kept (job_id, message_id, channel_id, consumer_id, reason, error, fingerprint, attempts)
SELECT id, message_id, channel_id, consumer_id, reason, error, error_fingerprint(reason, error), attempt
FROM died ORDER BY id
ON CONFLICT (job_id) DO UPDATE SET id = nextval('dead_letter_id_seq'), reason = excluded.reason, error = excluded.error,
    fingerprint = excluded.fingerprint, attempts = excluded.attempts, times = kept.times + 1, entered_at = now(),
    resolution = NULL, resolved_at = NULL, resolved_by = NULL, note = '', edited_message_id = NULL
"""
KEEP = f"""
CREATE FUNCTION keep_dead_letters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh WHERE status = 1004) THEN
        RETURN NULL;
    END IF;
    WITH died AS MATERIALIZED (
        {DIED.format(dead="fresh f JOIN stale s ON s.id = f.id AND s.status <> 1004")}
    ), entered AS (
        {ENTER}
    )
    INSERT INTO dead_letter_act (job_id, act, reason, attempt) SELECT id, 'entered', reason, attempt FROM died;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_dead_letters AFTER UPDATE ON delivery_job
REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION keep_dead_letters();
"""
NOT_KEPT = "DROP TRIGGER keep_dead_letters ON delivery_job; DROP FUNCTION keep_dead_letters();"

# What died before there were letters.
FILL = f"WITH died AS MATERIALIZED ({DIED.format(dead='delivery_job f')}) {ENTER}"

VACUUM = """
ALTER TABLE dead_letter SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.05);
"""


class Migration(migrations.Migration):
    dependencies = [("dlq_app", "0001_initial")]

    operations = [
        migrations.RunSQL(FINGERPRINT, NO_FINGERPRINT),
        count("dead_letter", LETTER),
        migrations.RunSQL(KEEP, NOT_KEPT),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
    ]
