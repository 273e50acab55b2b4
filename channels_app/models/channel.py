"""A channel: where messages are broadcast."""

from django.db import models
from django.db.models import Q

from channels_app.models.policies import (
    MAX_FACTOR,
    MAX_PER_SECOND,
    MAX_RETRIES,
    MAX_WAIT_SECONDS,
    Jitter,
    between,
    non_retriable_field,
    retry_constraints,
)
from channels_app.models.registry_object import RegistryObject

MAX_PARTITIONS = 64
MAX_SPREAD_SECONDS = 24 * 3600
MAX_AGE_LIMIT_SECONDS = 365 * 24 * 3600
MAX_RETENTION_DAYS = 36_500
MAX_BACKLOG_LIMIT = 1_000_000_000


class DeadLetters(models.TextChoices):
    KEEP = "keep", "keep for operators"
    DROP = "drop", "count only"


class Answers(models.TextChoices):
    """How the answer of a push consumer is read."""

    HTTP = "http", "by its status"
    DAPR = "dapr", "by its status and Dapr's words: SUCCESS, RETRY, DROP"


class Channel(RegistryObject):
    retries = models.IntegerField(default=3, validators=between(0, MAX_RETRIES))
    retry_initial_seconds = models.FloatField(default=1.0, validators=between(0.001, MAX_WAIT_SECONDS))
    retry_factor = models.FloatField(default=2.0, validators=between(1, MAX_FACTOR))
    retry_ceiling_seconds = models.FloatField(default=30.0, validators=between(0.001, MAX_WAIT_SECONDS))
    retry_jitter = models.CharField(max_length=8, choices=Jitter.choices, default=Jitter.NONE)
    non_retriable = non_retriable_field(null=False)
    delayed_messaging = models.BooleanField(default=True)
    dead_letters = models.CharField(max_length=8, choices=DeadLetters.choices, default=DeadLetters.KEEP)
    max_backlog = models.IntegerField(null=True, blank=True, validators=between(1, MAX_BACKLOG_LIMIT))
    max_age_seconds = models.IntegerField(default=86_400, validators=between(1, MAX_AGE_LIMIT_SECONDS))
    partitions = models.IntegerField(default=1, validators=between(1, MAX_PARTITIONS))
    # Messages due at the same moment: spread over so many seconds, or released at most so fast.
    spread_seconds = models.FloatField(null=True, blank=True, validators=between(0.001, MAX_SPREAD_SECONDS))
    release_per_second = models.FloatField(null=True, blank=True, validators=between(0.001, MAX_PER_SECOND))
    retention_days = models.IntegerField(null=True, blank=True, validators=between(1, MAX_RETENTION_DAYS))
    answers = models.CharField(max_length=8, choices=Answers.choices, default=Answers.HTTP, db_default=Answers.HTTP)

    class Meta:
        db_table = "channel"
        permissions = [("reveal_token", "Can reveal tokens of channels, producers and consumers")]
        indexes = [models.Index(fields=["id"], condition=Q(deleted_at__isnull=True), name="channel_live")]
        constraints = [
            models.UniqueConstraint(
                fields=["public_id"],
                condition=Q(deleted_at__isnull=True),
                name="channel_public_id_is_unique",
                violation_error_message="There is a channel with this id.",
            ),
            *RegistryObject.Meta.constraints,
            *retry_constraints(),
            models.CheckConstraint(name="channel_backlog_is_positive", condition=Q(max_backlog__gte=1)),
            models.CheckConstraint(name="channel_age_is_positive", condition=Q(max_age_seconds__gte=1)),
            models.CheckConstraint(
                name="channel_partitions_in_range", condition=Q(partitions__range=(1, MAX_PARTITIONS))
            ),
            models.CheckConstraint(name="channel_spread_is_positive", condition=Q(spread_seconds__gt=0)),
            models.CheckConstraint(name="channel_release_is_positive", condition=Q(release_per_second__gt=0)),
            models.CheckConstraint(name="channel_retention_is_positive", condition=Q(retention_days__gte=1)),
            models.CheckConstraint(name="channel_answers_are_known", condition=Q(answers__in=Answers.values)),
        ]
