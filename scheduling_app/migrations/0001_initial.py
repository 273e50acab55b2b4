"""Messages for later, counted as messages and jobs are: by partition, which stands in the consumer's column."""

from importlib import import_module

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

count = import_module("channels_app.migrations.0003_state_and_counter_triggers").count
SCHEDULED = "3 AS kind, channel_id, partition::bigint AS consumer_id, status, '' AS reason"

# By rows, not by share: what was dispatched must not pile up in the index of what is due.
VACUUM = """
ALTER TABLE scheduled_message SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.05);
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("channels_app", "0005_partitions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.CharField(db_collation="C", max_length=255)),
                ("payload", models.BinaryField()),
                ("content_type", models.CharField(max_length=255)),
                ("priority", models.IntegerField(default=0)),
                ("partition", models.SmallIntegerField(db_default=0)),
                ("headers", models.JSONField(default=dict)),
                (
                    "status",
                    models.SmallIntegerField(
                        choices=[(100, "Scheduled"), (101, "Dispatched"), (102, "Cancelled"), (103, "Set Aside")],
                        db_default=100,
                    ),
                ),
                ("reason", models.CharField(max_length=16, null=True)),
                ("scheduled_for", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("dispatched_at", models.DateTimeField(null=True)),
                ("status_changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "channel",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="channels_app.channel",
                    ),
                ),
                (
                    "producer",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="channels_app.producer",
                    ),
                ),
            ],
            options={
                "db_table": "scheduled_message",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", 100)),
                        fields=["channel", "partition", "due_at", "id"],
                        name="scheduled_due",
                    ),
                    models.Index(fields=["channel", "id"], name="scheduled_by_channel"),
                    models.Index(fields=["channel", "status", "id"], name="scheduled_by_status"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("channel", "message_id"), name="scheduled_message_id_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("due_at__gte", models.F("scheduled_for"))), name="scheduled_never_early"
                    ),
                ],
            },
        ),
        count("scheduled_message", SCHEDULED),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
    ]
