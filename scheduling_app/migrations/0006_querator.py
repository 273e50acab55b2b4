"""Queues of the Querator door, and what dies in them on its way to their dead queues."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# After the statement, so that the attempt which it has written is seen. The message's id is made of the job's and its
# attempt's: whatever happens, a death is told once. A job that is cleared or expunged ends as expired before its time,
# and is not sent on; nor is what ends with its queue. Headers hold a character for each byte of UTF-8.
# A dead queue that is being deleted is waited for: what does not go to it leaves a letter, and one of the two is so.
BURY = """
CREATE FUNCTION send_to_dead_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh WHERE status = 1004) THEN
        RETURN NULL;
    END IF;
    WITH live AS MATERIALIZED (
        SELECT id, partitions FROM channel WHERE deleted_at IS NULL AND id = ANY (ARRAY(
            SELECT q.dead_queue_id FROM queue q WHERE q.channel_id IN (SELECT channel_id FROM fresh WHERE status = 1004)
        )) ORDER BY id FOR SHARE
    ), died AS MATERIALIZED (
        SELECT f.id, f.message_id, f.partition, f.attempt, f.failures, f.reason, c.public_id AS source,
               d.id AS dead_channel_id, (f.id % d.partitions)::smallint AS dead_partition,
               f.partition || '-' || f.id || '-' || f.attempt AS item_id
        FROM fresh f JOIN stale s ON s.id = f.id AND s.status <> 1004
        JOIN queue q ON q.channel_id = f.channel_id JOIN channel c ON c.id = f.channel_id
        JOIN live d ON d.id = q.dead_queue_id
        JOIN consumer k ON k.id = f.consumer_id AND k.max_attempts IS NOT NULL
        WHERE f.status = 1004 AND f.reason NOT IN ('consumer_gone', 'channel_gone')
          AND (f.reason <> 'expired' OR f.expires_at <= now())
    ), sent AS MATERIALIZED (
        SELECT nextval('message_id_seq'::regclass) AS row_id, ordered.* FROM (SELECT * FROM died ORDER BY id) AS ordered
    ), keyed AS (
        INSERT INTO message_key (channel_id, message_id, row_id)
        SELECT dead_channel_id, 'dead-' || item_id, row_id FROM sent ORDER BY dead_channel_id, row_id
        ON CONFLICT DO NOTHING RETURNING row_id
    )
    INSERT INTO message (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition,
                         status, received_at)
    OVERRIDING SYSTEM VALUE
    SELECT sent.row_id, sent.dead_channel_id, m.producer_id, 'dead-' || sent.item_id, m.payload, m.content_type,
           m.priority, m.headers || jsonb_build_object(
               'X-Querator-Source-Queue', sent.source,
               'X-Querator-Source-ID', sent.item_id,
               'X-Querator-Dead-Reason', sent.reason,
               'X-Querator-Attempts', sent.failures::text,
               'X-Querator-Produced-At', to_char(m.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
               'X-Querator-History', convert_from(convert_to(coalesce(history.told, '[]'), 'UTF8'), 'LATIN1')
           ), sent.dead_partition, 100, now()
    FROM sent JOIN keyed USING (row_id) JOIN message m ON m.id = sent.message_id
    LEFT JOIN LATERAL (
        SELECT json_agg(json_build_object(
                   'attempt', a.attempt, 'reason', a.reason, 'client', a.device_id,
                   'at', to_char(a.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
               ) ORDER BY a.attempt)::text AS told
        FROM (
            SELECT attempt, reason, device_id, finished_at FROM delivery_attempt
            WHERE job_id = sent.id ORDER BY attempt DESC, id DESC LIMIT 10
        ) AS a
    ) AS history ON true
    ORDER BY sent.row_id;
    RETURN NULL;
END $$;
-- Triggers fire by their names: before keep_dead_letters, which must not look until the dead queue is held.
CREATE TRIGGER dead_queue_takes AFTER UPDATE ON delivery_job
REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION send_to_dead_queue();
"""
NOT_SENT = "DROP TRIGGER dead_queue_takes ON delivery_job; DROP FUNCTION send_to_dead_queue();"

# Whoever deletes the channel: queues that sent their dead there have no dead queue any more, and keep letters again.
UNTIE = """
CREATE FUNCTION untie_dead_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH untied AS (
        UPDATE queue SET dead_queue_id = NULL, updated_at = now() WHERE dead_queue_id = NEW.id RETURNING channel_id
    )
    UPDATE channel c SET dead_letters = 'keep',
           changed_at = greatest(date_trunc('second', now()), c.changed_at + interval '1 second')
    FROM untied WHERE c.id = untied.channel_id;
    RETURN NULL;
END $$;
CREATE TRIGGER untie_dead_queue AFTER UPDATE OF deleted_at ON channel FOR EACH ROW
WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION untie_dead_queue();
"""
NOT_UNTIED = "DROP TRIGGER untie_dead_queue ON channel; DROP FUNCTION untie_dead_queue();"


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0011_querator"),
        ("scheduling_app", "0005_dapr_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="Queue",
            fields=[
                (
                    "channel",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="queue",
                        serialize=False,
                        to="channels_app.channel",
                    ),
                ),
                ("reference", models.CharField(db_default="", max_length=2000)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "dead_queue",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sources",
                        to="scheduling_app.queue",
                    ),
                ),
            ],
            options={"db_table": "queue"},
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("dead_queue", models.F("channel")), _negated=True),
                name="queue_is_not_its_own_dead_queue",
            ),
        ),
        migrations.RunSQL(BURY, NOT_SENT),
        migrations.RunSQL(UNTIE, NOT_UNTIED),
    ]
