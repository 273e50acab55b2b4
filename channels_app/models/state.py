"""What the engine remembers of a channel and a consumer. Apart from the registry: it never moves `changedAt`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer


class ChannelState(models.Model):
    """Made by a trigger with the channel."""

    channel = models.OneToOneField(Channel, on_delete=models.CASCADE, primary_key=True, related_name="state")
    last_sequence = models.BigIntegerField(db_default=0)
    paused_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "channel_state"


class ConsumerState(models.Model):
    """Made by a trigger with the consumer. Its row lock says who delivers to the consumer now."""

    consumer = models.OneToOneField(Consumer, on_delete=models.CASCADE, primary_key=True, related_name="state")
    slots = models.IntegerField(db_default=10)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=16, null=True)
    paused_at = models.DateTimeField(null=True)
    # The breaker: failures in a row, the first jobs among them, and until when it is open.
    streak = models.IntegerField(db_default=0)
    streak_jobs = ArrayField(models.BigIntegerField(), db_default=[])
    breaker_opened_at = models.DateTimeField(null=True)
    breaker_until = models.DateTimeField(null=True)
    # The rate limit's bucket, as it was when last written.
    rate_tokens = models.FloatField(null=True)
    rate_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "consumer_state"
