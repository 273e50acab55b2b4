"""Dapr's components, and what a message for later remembers of Dapr's door."""

import django.core.validators
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0010_dapr"),
        ("scheduling_app", "0003_scheduled_due_all"),
    ]

    operations = [
        migrations.AddField(model_name="scheduledmessage", name="ttl_seconds", field=models.IntegerField(null=True)),
        migrations.AddField(model_name="scheduledmessage", name="dapr", field=models.JSONField(null=True)),
        migrations.AddIndex(
            model_name="scheduledmessage",
            index=models.Index(
                condition=models.Q(("dapr__isnull", False), ("status", 100)),
                fields=["producer", "due_at", "id"],
                name="scheduled_delayed",
            ),
        ),
        migrations.CreateModel(
            name="Component",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        db_collation="C",
                        max_length=255,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9._~-]{1,255}\\Z", "1 to 255 of A-Z a-z 0-9 . _ ~ -"
                            )
                        ],
                    ),
                ),
                (
                    "enable_delayed_messaging",
                    models.BooleanField(
                        default=False,
                        help_text="Whether messages may be published for later (metadata.scheduledSendTime).",
                    ),
                ),
                (
                    "create_topics",
                    models.BooleanField(
                        default=True,
                        help_text="Whether publishing to an unknown topic makes its channel; else it is refused.",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={"db_table": "dapr_component", "verbose_name": "Dapr component"},
        ),
        # As migration 0002 of the core does it for the registry.
        migrations.RunSQL(
            """
            CREATE TRIGGER raise_registry_version BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON dapr_component
            FOR EACH STATEMENT EXECUTE FUNCTION raise_registry_version();
            """,
            "DROP TRIGGER raise_registry_version ON dapr_component;",
        ),
    ]
