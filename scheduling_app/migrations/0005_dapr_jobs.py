"""Dapr's jobs: their names, how they were asked for, and an end after so many ticks. Delayed messages by listing."""

from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0010_dapr"),
        ("scheduling_app", "0004_dapr"),
    ]

    operations = [
        migrations.AddField(model_name="recurringschedule", name="job", field=models.JSONField(null=True)),
        migrations.AddField(model_name="recurringschedule", name="max_ticks", field=models.BigIntegerField(null=True)),
        migrations.AddConstraint(
            model_name="recurringschedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_ticks__gte", 1)), name="recurring_ticks_at_least_once"
            ),
        ),
        migrations.AddField(model_name="scheduledmessage", name="job", field=models.JSONField(null=True)),
        migrations.AddField(
            model_name="scheduledmessage",
            name="job_name",
            field=models.CharField(db_collation="C", max_length=255, null=True),
        ),
        migrations.AddConstraint(
            model_name="scheduledmessage",
            constraint=models.UniqueConstraint(
                condition=models.Q(("job_name__isnull", False), ("status", 100)),
                fields=("channel", "job_name"),
                name="scheduled_job_name_is_unique",
            ),
        ),
        migrations.RemoveIndex(model_name="scheduledmessage", name="scheduled_delayed"),
        migrations.AddIndex(
            model_name="scheduledmessage",
            index=models.Index(
                KeyTextTransform("listing", "dapr"),
                models.F("due_at"),
                models.F("id"),
                condition=models.Q(("dapr__isnull", False), ("status", 100)),
                name="scheduled_listing",
            ),
        ),
    ]
