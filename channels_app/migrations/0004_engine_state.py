"""What the engine remembers: pauses, breakers, rate limits, expiry; and vacuuming that keeps up with hot tables."""

import datetime

import django.contrib.postgres.fields
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

import channels_app.models.fields

# By rows, not by share: at five million rows a share of a fifth would come too late for the indexes of what is ready.
VACUUM = """
ALTER TABLE message SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE delivery_job SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE counter_delta SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE channel_state SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500);
ALTER TABLE consumer_state SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500);
"""
NO_VACUUM = "".join(
    f"ALTER TABLE {table} RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,"
    " autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);"
    for table in ("message", "delivery_job", "counter_delta", "channel_state", "consumer_state")
)


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0003_state_and_counter_triggers"),
    ]

    operations = [
        migrations.AddField(
            model_name="channelstate",
            name="paused_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="consumer",
            name="previous_secret",
            field=channels_app.models.fields.SealedField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="consumer",
            name="previous_secret_until",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="breaker_opened_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="breaker_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="paused_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="rate_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="rate_tokens",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="streak",
            field=models.IntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="consumerstate",
            name="streak_jobs",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), db_default=[], size=None
            ),
        ),
        migrations.AddField(
            model_name="deliveryjob",
            name="expires_at",
            field=models.DateTimeField(
                db_default=django.db.models.expressions.CombinedExpression(
                    django.db.models.functions.datetime.Now(), "+", models.Value(datetime.timedelta(days=1))
                )
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="expunged_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="expunged_by",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.RunSQL(VACUUM, NO_VACUUM),
    ]
