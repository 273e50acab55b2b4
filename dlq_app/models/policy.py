"""How a channel wants its dead letters looked after."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from channels_app.models import Channel, Consumer
from channels_app.models.channel import MAX_RETENTION_DAYS
from channels_app.models.policies import between

MAX_ALERT_DEPTH = 1_000_000_000
MAX_ALERT_AGE_SECONDS = 365 * 24 * 3600


class DeadLetterPolicy(models.Model):
    """Apart from the channel's own row: it changes nothing about delivery. No row says the same as all defaults."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="dead_letter_policy"
    )
    retention_days = models.IntegerField(null=True, blank=True, validators=between(1, MAX_RETENTION_DAYS))
    auto_redrive = models.BooleanField(default=False)
    alert_depth = models.IntegerField(null=True, blank=True, validators=between(1, MAX_ALERT_DEPTH))
    alert_age_seconds = models.IntegerField(null=True, blank=True, validators=between(1, MAX_ALERT_AGE_SECONDS))

    class Meta:
        db_table = "dead_letter_policy"
        verbose_name = "dead letter policy"
        verbose_name_plural = "dead letter policies"
        constraints = [
            models.CheckConstraint(name="letter_retention_is_positive", condition=Q(retention_days__gte=1)),
            models.CheckConstraint(name="letter_alert_depth_is_positive", condition=Q(alert_depth__gte=1)),
            models.CheckConstraint(name="letter_alert_age_is_positive", condition=Q(alert_age_seconds__gte=1)),
        ]

    def __str__(self) -> str:
        return str(self.channel)


class DeadLetterRecovery(models.Model):
    """A consumer whose channel redrives by itself takes deliveries again: its letters of the trouble are to be queued.

    Made by a trigger on its state (migration 0003), gone when all of them were looked at.
    """

    consumer = models.ForeignKey(Consumer, on_delete=models.DO_NOTHING, db_constraint=False)
    trouble_began_at = models.DateTimeField()
    recovered_at = models.DateTimeField(db_default=Now())
    # Letters up to this one were looked at.
    after_id = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "dead_letter_recovery"
