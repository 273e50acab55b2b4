"""A message: one accepted payload. ACKNOWLEDGED (stored), then DISPATCHED (its jobs exist)."""

import base64

from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now

from channels_app.models.channel import Channel
from channels_app.models.producer import Producer


class MessageStatus(models.IntegerChoices):
    ACKNOWLEDGED = 100
    DISPATCHED = 101


# As fan-out does it, the place in the channel's sequence included, but for nobody.
_DISPATCH_TO_NOBODY = """
WITH state AS (
    UPDATE channel_state SET last_sequence = last_sequence + 1
    WHERE channel_id = (SELECT channel_id FROM message WHERE id = %(message)s AND status = 100)
    RETURNING last_sequence
)
UPDATE message SET status = 101, dispatched_at = now(), sequence = state.last_sequence
FROM state WHERE message.id = %(message)s
"""


class MessageQuerySet(models.QuerySet["Message"]):
    def expunge(self, *, by: str) -> int:
        """The payload goes for good; the row stays, and says who did it."""
        return self.update(payload=b"", expunged_at=Now(), expunged_by=by)


class Content:
    """What a payload and its headers are as texts: for a message now, and for one for later."""

    payload: bytes | memoryview
    headers: dict[str, str]

    @property
    def payload_text(self) -> str | None:
        """The payload as text, if it is one."""
        try:
            return bytes(self.payload).decode()
        except UnicodeDecodeError:
            return None

    @property
    def header_texts(self) -> dict[str, str]:
        """Values are kept as a character for each byte; most producers mean UTF-8."""
        return {name: as_text(value) for name, value in self.headers.items()}

    @property
    def payload_base64(self) -> str:
        return base64.b64encode(self.payload).decode()


class Message(Content, models.Model):
    """Written in bulk by the door; rows of the registry are never removed, so no foreign key is checked here."""

    channel = models.ForeignKey(Channel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    producer = models.ForeignKey(Producer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message_id = models.CharField(max_length=255, db_collation="C")
    payload = models.BinaryField()
    content_type = models.CharField(max_length=255)
    priority = models.IntegerField(default=0)
    # Given at the door by least load, and kept for life.
    partition = models.SmallIntegerField(db_default=0)
    headers = models.JSONField(default=dict)
    status = models.SmallIntegerField(choices=MessageStatus.choices, default=MessageStatus.ACKNOWLEDGED)
    sequence = models.BigIntegerField(null=True)
    received_at = models.DateTimeField(db_default=Now())
    dispatched_at = models.DateTimeField(null=True)
    expunged_at = models.DateTimeField(null=True)
    expunged_by = models.CharField(max_length=255, null=True)
    # How long its jobs may wait, if shorter than the channel's maxAgeSeconds.
    ttl_seconds = models.IntegerField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        db_table = "message"
        indexes = [
            models.Index(fields=["channel", "id"], name="message_by_channel"),
            # The messages that wait for fan-out; empty when all is well.
            models.Index(fields=["channel", "id"], condition=Q(status=100), name="message_waiting"),
            # For those who poll by index.
            models.Index(
                fields=["channel", "sequence"], condition=Q(sequence__isnull=False), name="message_by_sequence"
            ),
        ]

    def __str__(self) -> str:
        return self.message_id

    def dispatch_to_nobody(self) -> None:
        """For one that waits for fan-out and must not be sent any more. The caller holds its lock."""
        with connection.cursor() as cursor:
            cursor.execute(_DISPATCH_TO_NOBODY, {"message": self.pk})

    @property
    def status_name(self) -> str:
        return MessageStatus(self.status).name


class MessageKey(models.Model):
    """A message id, taken once per channel. When the message is pruned, it stays as the tombstone for a long while."""

    pk = models.CompositePrimaryKey("channel_id", "message_id")
    channel_id = models.BigIntegerField()
    message_id = models.CharField(max_length=255, db_collation="C")
    row_id = models.BigIntegerField()
    scheduled = models.BooleanField(db_default=False)
    # Its message is in the lake and no longer here.
    pruned_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "message_key"
        # For the sweep that frees the ids of what was pruned long ago.
        indexes = [models.Index(fields=["pruned_at"], condition=Q(pruned_at__isnull=False), name="message_key_pruned")]


def as_text(value: str) -> str:
    try:
        return value.encode("latin1").decode()
    except UnicodeError:
        return value
