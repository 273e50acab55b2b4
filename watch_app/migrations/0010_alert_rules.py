"""Which numbers staff are told of, and when."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0015_alerts"),
        ("watch_app", "0005_dashboard_permission"),
    ]

    operations = [
        migrations.CreateModel(
            name="AlertRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, unique=True)),
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
                (
                    "threshold",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000000),
                        ]
                    ),
                ),
                (
                    "hold_seconds",
                    models.IntegerField(
                        default=60,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                    ),
                ),
                (
                    "least_tries",
                    models.IntegerField(
                        default=20,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("to_webhook", models.BooleanField(default=True)),
                ("to_email", models.BooleanField(default=True)),
                (
                    "addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.EmailField(max_length=254), blank=True, default=list, size=20
                    ),
                ),
                (
                    "channel",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="channels_app.channel",
                    ),
                ),
                (
                    "consumer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="channels_app.consumer",
                    ),
                ),
            ],
            options={
                "verbose_name": "alert rule",
                "db_table": "alert_rule",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("threshold__gte", 0), ("threshold__lte", 1000000000)),
                        name="alert_rule_threshold_fits",
                        violation_error_message="A threshold is from 0 to 1,000,000,000.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "success_rate"), _negated=True),
                            models.Q(("threshold__gt", 0), ("threshold__lte", 100)),
                            _connector="OR",
                        ),
                        name="alert_rule_rate_is_percent",
                        violation_error_message="A success rate is in percent: more than 0, at most 100.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("hold_seconds__gte", 0), ("hold_seconds__lte", 86400)),
                        name="alert_rule_hold_fits",
                        violation_error_message="It holds for a day at most.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("least_tries__gte", 1)),
                        name="alert_rule_tries_are_positive",
                        violation_error_message="A rate needs one try at least.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("channel__isnull", True), ("consumer__isnull", True), _connector="OR"),
                        name="alert_rule_has_one_scope",
                        violation_error_message="Choose a channel or a consumer, not both.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind__in", ("age", "schedule_lag")), _negated=True),
                            ("consumer__isnull", True),
                            _connector="OR",
                        ),
                        name="alert_rule_of_channels",
                        violation_error_message="This number is known for channels, not for consumers.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "no_progress"), _negated=True),
                            models.Q(("channel__isnull", True), ("consumer__isnull", True)),
                            _connector="OR",
                        ),
                        name="alert_rule_of_parts",
                        violation_error_message="Beat and workers belong to no channel and no consumer.",
                    ),
                ],
            },
        ),
    ]
