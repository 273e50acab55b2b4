"""Alerts: an episode a row."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0014_ttl_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule_key", models.CharField(max_length=32)),
                ("rule", models.CharField(max_length=80)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("depth", "Open dead letters"),
                            ("age", "Age of the oldest dead letter"),
                            ("success_rate", "Tries that succeed"),
                            ("schedule_lag", "How late scheduled messages are"),
                            ("oldest_waiting", "How long the oldest job has waited"),
                            ("consumer_disabled", "Consumer is disabled"),
                            ("breaker_open", "How long a consumer has failed (circuit breaker)"),
                            ("no_progress", "How long beat or a worker has done nothing"),
                        ],
                        max_length=24,
                    ),
                ),
                ("part", models.CharField(blank=True, db_default="", max_length=64)),
                ("threshold", models.FloatField()),
                ("value", models.FloatField()),
                ("hold_seconds", models.IntegerField(db_default=0)),
                ("crossed_at", models.DateTimeField()),
                ("began_at", models.DateTimeField(null=True)),
                ("calm_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("to_webhook", models.BooleanField(db_default=True)),
                ("to_email", models.BooleanField(db_default=True)),
                (
                    "addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.EmailField(max_length=254), db_default=[], size=None
                    ),
                ),
                ("began_posted_at", models.DateTimeField(null=True)),
                ("ended_posted_at", models.DateTimeField(null=True)),
                ("began_mailed_at", models.DateTimeField(null=True)),
                ("ended_mailed_at", models.DateTimeField(null=True)),
                (
                    "channel",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alerts",
                        to="channels_app.channel",
                    ),
                ),
                (
                    "consumer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alerts",
                        to="channels_app.consumer",
                    ),
                ),
            ],
            options={
                "db_table": "alert",
                "indexes": [models.Index(fields=["ended_at", "id"], name="alert_by_end")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("rule_key", "channel", "consumer", "part"),
                        name="alert_once_per_episode",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ended_at__isnull", True), ("began_at__isnull", False), _connector="OR"),
                        name="alert_ended_had_begun",
                    ),
                ],
            },
        ),
    ]
