"""For Dapr's door: a time to live of a message, answers in Dapr's words, and producers found by their token alone."""

from typing import Any

import structlog
from django.db import migrations, models
from django.db.models.functions import Cast

from broker_project.lib.sealing import UnreadableSecret
from channels_app.models.fields import sealer
from channels_app.models.producer import DigestField

log = structlog.get_logger(__name__)

BATCH = 1_000


def digest_tokens(apps: Any, _editor: Any) -> None:
    """As they are sealed: one that these keys do not open is left out, and found by its token once it has a new one."""
    producer = apps.get_model("channels_app", "Producer")
    # Without the field's own opening, which would end with the first that cannot be opened.
    sealed = producer.objects.annotate(sealed=Cast("token", models.TextField())).order_by("pk")
    last = 0
    while rows := list(sealed.filter(pk__gt=last).defer("token")[:BATCH]):
        readable = [row for row in rows if _digest(row)]
        producer.objects.bulk_update(readable, ["token_digest"])
        last = rows[-1].pk


def _digest(row: Any) -> bool:
    try:
        row.token_digest = sealer().digest(sealer().unseal(row.sealed))
    except UnreadableSecret:
        log.warning("producer.token_unreadable", producer=row.public_id)
        return False
    return True


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0009_pruned"),
    ]

    operations = [
        migrations.AddField(model_name="message", name="ttl_seconds", field=models.IntegerField(null=True)),
        migrations.AddField(
            model_name="channel",
            name="answers",
            field=models.CharField(
                choices=[("http", "by its status"), ("dapr", "by its status and Dapr's words: SUCCESS, RETRY, DROP")],
                db_default="http",
                default="http",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("answers__in", ["http", "dapr"])), name="channel_answers_are_known"
            ),
        ),
        migrations.AddField(
            model_name="producer",
            name="token_digest",
            field=DigestField(db_default="", editable=False, max_length=64),
        ),
        migrations.RunPython(digest_tokens, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="producer",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True)), fields=["token_digest"], name="producer_by_token"
            ),
        ),
    ]
