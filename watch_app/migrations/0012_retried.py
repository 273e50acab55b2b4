"""A failed try whose job is queued again is noted as such: not every death is a failed try, so it is no difference."""

from importlib import import_module

from django.db import migrations, models

flows = import_module("watch_app.migrations.0002_flows")


def noted(again: str) -> str:
    """The function of the trigger on jobs; see migration 0002. `again`: what a try is that its job outlives."""
    return f"""
CREATE OR REPLACE FUNCTION note_job_flow() RETURNS trigger LANGUAGE plpgsql
SET enable_nestloop = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh WHERE status <> 1002) THEN
        RETURN NULL;
    END IF;
    INSERT INTO flow (channel_id, consumer_id, measure, place, count)
    SELECT channel_id, consumer_id, measure,
           CASE measure WHEN 2 THEN {flows.PLACE.format(seconds=flows.SINCE_ACCEPTED)} ELSE 0 END AS place, count(*)
    FROM (
        SELECT f.channel_id, f.consumer_id, f.message_id, f.created_at, unnest(
            CASE WHEN f.status = 1003 THEN ARRAY[2]
                 WHEN f.status = 1004 AND {flows.FAILED} THEN ARRAY[3, 4]
                 WHEN f.status = 1004 THEN ARRAY[4]
                 WHEN {flows.FAILED} THEN {again} END
        ) AS measure
        FROM fresh f JOIN stale s ON s.id = f.id WHERE f.status <> s.status AND f.status <> 1002
    ) AS moved
    GROUP BY channel_id, consumer_id, measure, 4;
    RETURN NULL;
END $$;
"""


# What was recorded before has what was shown of it: too little where jobs died without a failed try.
SHOWN = "UPDATE watch_recorded SET retried = failed - dead WHERE failed > dead;"


class Migration(migrations.Migration):
    dependencies = [("watch_app", "0011_default_rules")]

    operations = [
        migrations.AddField(
            model_name="recorded",
            name="retried",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="flow",
            name="measure",
            field=models.SmallIntegerField(
                choices=[
                    (1, "Accepted"),
                    (2, "Delivered"),
                    (3, "Failed"),
                    (4, "Dead"),
                    (5, "Scheduled"),
                    (6, "Retried"),
                ]
            ),
        ),
        migrations.RunSQL(SHOWN, migrations.RunSQL.noop),
        migrations.RunSQL(noted("ARRAY[3, 6]"), noted("ARRAY[3]")),
    ]
