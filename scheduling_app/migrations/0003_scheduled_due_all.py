"""What is due in all channels, and what was set aside, found by index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling_app", "0002_recurring"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="scheduledmessage",
            index=models.Index(
                condition=models.Q(("dispatched_at__isnull", True), ("status", 100)),
                fields=["due_at", "id"],
                name="scheduled_due_all",
            ),
        ),
        migrations.AddIndex(
            model_name="scheduledmessage",
            index=models.Index(condition=models.Q(("status", 103)), fields=["id"], name="scheduled_set_aside"),
        ),
    ]
