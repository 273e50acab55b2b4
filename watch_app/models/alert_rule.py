"""When staff want to be told: which number, of whom, how bad, for how long, and who is told."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from channels_app.models import AlertKind, Channel, Consumer
from channels_app.models.policies import between

MAX_THRESHOLD = 1_000_000_000
MAX_HOLD_SECONDS = 24 * 3600
MAX_TRIES = 1_000_000
MAX_ADDRESSES = 20
DAY = 24 * 3600

# Measured for channels, not for each consumer.
OF_CHANNELS = (AlertKind.AGE, AlertKind.SCHEDULE_LAG)


class AlertRule(models.Model):
    """For all, for a channel or for a consumer. Of the rules of a kind the closest one decides."""

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=24, choices=AlertKind.choices)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    consumer = models.ForeignKey(Consumer, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    threshold = models.FloatField(validators=between(0, MAX_THRESHOLD))
    hold_seconds = models.IntegerField(default=60, validators=between(0, MAX_HOLD_SECONDS))
    least_tries = models.IntegerField(default=20, validators=between(1, MAX_TRIES))
    enabled = models.BooleanField(default=True)
    to_webhook = models.BooleanField(default=True)
    to_email = models.BooleanField(default=True)
    addresses = ArrayField(models.EmailField(), default=list, blank=True, size=MAX_ADDRESSES)

    class Meta:
        db_table = "alert_rule"
        verbose_name = "alert rule"
        constraints = [
            models.CheckConstraint(
                name="alert_rule_threshold_fits",
                condition=Q(threshold__gte=0, threshold__lte=MAX_THRESHOLD),
                violation_error_message=f"A threshold is from 0 to {MAX_THRESHOLD:,}.",
            ),
            models.CheckConstraint(
                name="alert_rule_rate_is_percent",
                condition=~Q(kind=AlertKind.SUCCESS_RATE) | Q(threshold__gt=0, threshold__lte=100),
                violation_error_message="A success rate is in percent: more than 0, at most 100.",
            ),
            models.CheckConstraint(
                name="alert_rule_hold_fits",
                condition=Q(hold_seconds__gte=0, hold_seconds__lte=MAX_HOLD_SECONDS),
                violation_error_message="It holds for a day at most.",
            ),
            models.CheckConstraint(
                name="alert_rule_tries_are_positive",
                condition=Q(least_tries__gte=1),
                violation_error_message="A rate needs one try at least.",
            ),
            models.CheckConstraint(
                name="alert_rule_has_one_scope",
                condition=Q(channel__isnull=True) | Q(consumer__isnull=True),
                violation_error_message="Choose a channel or a consumer, not both.",
            ),
            models.CheckConstraint(
                name="alert_rule_of_channels",
                condition=~Q(kind__in=OF_CHANNELS) | Q(consumer__isnull=True),
                violation_error_message="This number is known for channels, not for consumers.",
            ),
            models.CheckConstraint(
                name="alert_rule_of_parts",
                condition=~Q(kind=AlertKind.NO_PROGRESS) | Q(channel__isnull=True, consumer__isnull=True),
                violation_error_message="Beat and workers belong to no channel and no consumer.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
