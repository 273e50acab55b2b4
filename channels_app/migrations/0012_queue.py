"""Subscribers of polled queues are found by their id alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0011_querator"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="consumer",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True)), fields=["public_id"], name="consumer_by_public_id"
            ),
        ),
    ]
