"""Consumers of queues: so many attempts in all, and jobs that wait for a retry found by consumer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("channels_app", "0010_dapr")]

    operations = [
        migrations.AddField(
            model_name="consumer",
            name="max_attempts",
            field=models.IntegerField(editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name="consumer",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_attempts__gte", 0)), name="consumer_attempts_in_range"
            ),
        ),
        migrations.AddIndex(
            model_name="deliveryjob",
            index=models.Index(
                condition=models.Q(("next_attempt_at__isnull", False), ("status", 1001)),
                fields=["consumer", "next_attempt_at", "id"],
                name="job_waiting_of",
            ),
        ),
    ]
