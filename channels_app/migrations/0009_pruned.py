"""What was pruned: the key stays as its tombstone, and a channel remembers how far the pruning has looked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0008_dead_letter_counts"),
    ]

    operations = [
        migrations.AddField(
            model_name="messagekey",
            name="pruned_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="messagekey",
            index=models.Index(
                condition=models.Q(("pruned_at__isnull", False)), fields=["pruned_at"], name="message_key_pruned"
            ),
        ),
        migrations.AddField(
            model_name="channelstate",
            name="pruned_message",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="channelstate",
            name="pruned_scheduled",
            field=models.BigIntegerField(db_default=0),
        ),
    ]
