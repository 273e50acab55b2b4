"""Recurring schedules; what is due is found by an index, as with messages for later."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0005_partitions"),
        ("scheduling_app", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecurringSchedule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.CharField(db_collation="C", max_length=200, verbose_name="id")),
                ("cron", models.CharField(max_length=255, null=True)),
                ("interval_seconds", models.IntegerField(null=True)),
                ("timezone", models.CharField(default="UTC", max_length=63)),
                ("payload", models.BinaryField()),
                ("content_type", models.CharField(default="application/octet-stream", max_length=255)),
                ("headers", models.JSONField(default=dict)),
                ("priority", models.IntegerField(default=0)),
                ("start_at", models.DateTimeField()),
                ("end_at", models.DateTimeField(null=True)),
                (
                    "missed",
                    models.CharField(
                        choices=[("skip", "none of them"), ("one", "the last of them"), ("all", "each of them")],
                        default="one",
                        max_length=8,
                    ),
                ),
                (
                    "overlap",
                    models.CharField(
                        choices=[("allow", "it is made"), ("skip", "it is skipped")], default="allow", max_length=8
                    ),
                ),
                ("paused_at", models.DateTimeField(null=True)),
                ("paused_by", models.CharField(db_default="", max_length=255)),
                ("paused_note", models.CharField(db_default="", max_length=255)),
                ("next_at", models.DateTimeField(null=True)),
                ("last_tick_at", models.DateTimeField(null=True)),
                ("ticks", models.BigIntegerField(db_default=0)),
                ("skipped", models.BigIntegerField(db_default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.TruncSecond(
                            django.db.models.functions.datetime.Now()
                        ),
                        editable=False,
                    ),
                ),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
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
                "db_table": "recurring_schedule",
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None), ("paused_at", None)),
                        fields=["next_at", "id"],
                        name="recurring_due",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)), fields=["channel", "id"], name="recurring_by_channel"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)),
                        fields=("channel", "public_id"),
                        name="recurring_public_id_is_unique",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cron", None), ("interval_seconds", None), _connector="XOR"),
                        name="recurring_cron_or_interval",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("interval_seconds__gte", 1)), name="recurring_interval_is_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("end_at__gte", models.F("start_at"))), name="recurring_ends_after_start"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("missed__in", ["skip", "one", "all"])), name="recurring_missed_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("overlap__in", ["allow", "skip"])), name="recurring_overlap_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("deleted_at", None), ("next_at", None), _connector="OR"),
                        name="recurring_gone_never_ticks",
                    ),
                ],
            },
        ),
    ]
