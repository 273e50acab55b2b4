"""Acts on dead letters also leave with their letter, by its age: whoever removes some, their slices are told."""

from django.db import migrations

# In the order of all who hold several slices. Who prunes messages has told them already, in the same transaction.
TELL = """
CREATE FUNCTION tell_lake_of_letter_acts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH span AS (
        SELECT min(id) AS first_id, max(id) AS last_id FROM gone
    ), held AS MATERIALIZED (
        SELECT s.id FROM span JOIN lake_slice s
            ON s.kind = 5 AND s.first_id <= span.last_id AND s.last_id >= span.first_id
        WHERE s.pruned_at IS DISTINCT FROM now()
          AND EXISTS (SELECT FROM gone WHERE gone.id BETWEEN s.first_id AND s.last_id)
        ORDER BY s.id FOR UPDATE OF s
    )
    UPDATE lake_slice s SET pruned_at = now() FROM held WHERE s.id = held.id;
    RETURN NULL;
END $$;
CREATE TRIGGER dead_letter_act_tells_lake AFTER DELETE ON dead_letter_act
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION tell_lake_of_letter_acts();
"""
TELL_NOTHING = """
DROP TRIGGER dead_letter_act_tells_lake ON dead_letter_act;
DROP FUNCTION tell_lake_of_letter_acts();
"""
# Some may have gone already, of which nobody was told.
KEEP = "UPDATE lake_slice SET pruned_at = now() WHERE kind = 5 AND pruned_at IS NULL"


class Migration(migrations.Migration):
    dependencies = [
        ("reports_app", "0004_lake_owner"),
        ("dlq_app", "0002_triggers"),
    ]

    operations = [
        migrations.RunSQL(TELL, TELL_NOTHING),
        migrations.RunSQL(KEEP, migrations.RunSQL.noop),
    ]
