"""Jobs that end by a time to live of their own are found by it, wherever they stand in line."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0013_public_ids"),
    ]

    operations = [
        migrations.AddField(model_name="deliveryjob", name="has_ttl", field=models.BooleanField(null=True)),
        migrations.AddIndex(
            model_name="deliveryjob",
            index=models.Index(
                condition=models.Q(("has_ttl", True), ("status", 1001)), fields=["expires_at"], name="job_with_ttl"
            ),
        ),
    ]
