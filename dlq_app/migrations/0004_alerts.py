"""Alerts about dead letters become alerts like all others: their episodes move, and beat forgets the old sweep."""

from django.db import migrations

MOVE = """
INSERT INTO alert (rule_key, rule, kind, channel_id, threshold, value, crossed_at, began_at, ended_at,
                   began_posted_at, ended_posted_at)
SELECT 'policy-' || kind || '-' || channel_id, 'Dead letter policy', kind, channel_id, threshold, value, began_at,
       began_at, ended_at, began_told_at, ended_told_at
FROM dead_letter_alert ORDER BY id
"""
MOVE_BACK = """
INSERT INTO dead_letter_alert (channel_id, kind, threshold, value, began_at, ended_at, began_told_at, ended_told_at)
SELECT channel_id, kind, threshold::int, value::bigint, began_at, ended_at, began_posted_at, ended_posted_at
FROM alert WHERE rule_key LIKE 'policy-%' AND began_at IS NOT NULL ORDER BY id
"""
# Beat makes it anew from the settings of the version that knows it.
FORGET = "DELETE FROM django_celery_beat_periodictask WHERE task = 'dlq_app.watch'"


class Migration(migrations.Migration):
    dependencies = [
        ("dlq_app", "0003_policies"),
        ("channels_app", "0015_alerts"),
        ("django_celery_beat", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(MOVE, MOVE_BACK),
        migrations.DeleteModel(name="DeadLetterAlert"),
        migrations.RunSQL(FORGET, migrations.RunSQL.noop),
    ]
