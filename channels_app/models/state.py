"""What the engine remembers of a channel and a consumer. Apart from the registry: it never moves `changedAt`."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer


class StateQuerySet(models.QuerySet[Any]):
    def resume(self) -> int:
        """What stopped deliveries is forgotten, and failures before it do not count."""
        return self.update(**self.model.AT_WORK)


StateManager = models.Manager.from_queryset(StateQuerySet)


class ChannelState(models.Model):
    """Made by a trigger with the channel."""

    channel = models.OneToOneField(Channel, on_delete=models.CASCADE, primary_key=True, related_name="state")
    last_sequence = models.BigIntegerField(db_default=0)
    # Scheduled messages are released up to this moment's worth of the channel's rate.
    released_until = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    # How far the pruning of old messages, and of messages for later, has looked; at the end it begins anew.
    pruned_message = models.BigIntegerField(db_default=0)
    pruned_scheduled = models.BigIntegerField(db_default=0)

    objects = StateManager()

    AT_WORK: ClassVar[dict[str, Any]] = {"paused_at": None}

    class Meta:
        db_table = "channel_state"

    @property
    def status(self) -> str:
        return "paused" if self.paused_at else "delivering"


class ConsumerState(models.Model):
    """Made by a trigger with the consumer."""

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
    # Of one that polls by index: everything up to here is acknowledged, everything up to there was handed out.
    acked_index = models.BigIntegerField(db_default=0)
    sent_index = models.BigIntegerField(db_default=0)
    notified_at = models.DateTimeField(null=True)

    objects = StateManager()

    AT_WORK: ClassVar[dict[str, Any]] = {
        "paused_at": None,
        "disabled_at": None,
        "disabled_reason": None,
        "streak": 0,
        "streak_jobs": [],
        "breaker_opened_at": None,
        "breaker_until": None,
    }

    class Meta:
        db_table = "consumer_state"
        constraints = [
            models.CheckConstraint(
                name="consumer_acked_was_sent", condition=models.Q(acked_index__lte=models.F("sent_index"))
            )
        ]

    @property
    def status(self) -> str:
        """What stops deliveries, the strongest first. A breaker that is switched off stops nothing."""
        if self.disabled_at:
            return "disabled"
        if self.paused_at:
            return "paused"
        if self.breaker_until is None or not self.consumer.circuit_breaker:
            return "delivering"
        return "breaker_open" if self.breaker_until > timezone.now() else "breaker_half_open"
