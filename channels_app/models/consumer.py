"""A consumer: who receives from one channel, by push or by pull."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from broker_project.lib.callback_url import check_callback_url
from broker_project.lib.webhooks import new_secret
from channels_app.models.channel import Channel
from channels_app.models.fields import SealedField
from channels_app.models.policies import (
    MAX_FACTOR,
    MAX_RETRIES,
    MAX_WAIT_SECONDS,
    Jitter,
    between,
    non_retriable_field,
    retry_constraints,
)
from channels_app.models.registry_object import RegistryObject

MAX_IN_FLIGHT_LIMIT = 100_000
MAX_UNACKED_LIMIT = 100_000
MAX_TIMEOUT_SECONDS = 120
MAX_ACK_TIMEOUT_SECONDS = 7 * 24 * 3600


class ConsumerType(models.TextChoices):
    PUSH = "push", "push: we POST to its callback URL"
    PULL = "pull", "pull: it asks us"


class PullMode(models.TextChoices):
    LEASE = "lease"
    INDEX = "index"


class AckMode(models.TextChoices):
    RESPONSE = "response", "response: a 2xx answer is the acknowledgement"
    EXPLICIT = "explicit", "explicit: the consumer acknowledges later"


DEFAULT_IN_FLIGHT = {ConsumerType.PUSH: 100, ConsumerType.PULL: 1_000}


class Consumer(RegistryObject):
    """Retry columns left NULL take the channel's value."""

    signing_secret = SealedField(default=new_secret, editable=False)
    # After a rotation the secret before signs along until then.
    previous_secret = SealedField(null=True, editable=False)
    previous_secret_until = models.DateTimeField(null=True, editable=False)
    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="consumers")
    type = models.CharField(max_length=8, choices=ConsumerType.choices, default=ConsumerType.PUSH)
    callback_url = models.CharField(max_length=2048, blank=True, default="", validators=[check_callback_url])
    max_in_flight = models.IntegerField(null=True, blank=True, validators=between(1, MAX_IN_FLIGHT_LIMIT))
    pull_mode = models.CharField(max_length=8, choices=PullMode.choices, default=PullMode.LEASE)
    unacked_cap = models.IntegerField(default=10, validators=between(1, MAX_UNACKED_LIMIT))
    ack_mode = models.CharField(max_length=8, choices=AckMode.choices, default=AckMode.RESPONSE)
    ack_timeout_seconds = models.FloatField(default=60.0, validators=between(0.001, MAX_ACK_TIMEOUT_SECONDS))
    timeout_seconds = models.FloatField(default=30.0, validators=between(0.001, MAX_TIMEOUT_SECONDS))
    circuit_breaker = models.BooleanField(default=True)
    retries = models.IntegerField(null=True, blank=True, validators=between(0, MAX_RETRIES))
    retry_initial_seconds = models.FloatField(null=True, blank=True, validators=between(0.001, MAX_WAIT_SECONDS))
    retry_factor = models.FloatField(null=True, blank=True, validators=between(1, MAX_FACTOR))
    retry_ceiling_seconds = models.FloatField(null=True, blank=True, validators=between(0.001, MAX_WAIT_SECONDS))
    retry_jitter = models.CharField(max_length=8, null=True, blank=True, choices=Jitter.choices)
    non_retriable = non_retriable_field(null=True)
    # Of a queue's consumer: so many attempts in all (0: no end), however they ended and at once one after another. The
    # retry columns have no say then, and nothing is poison.
    max_attempts = models.IntegerField(null=True, editable=False)

    class Meta:
        db_table = "consumer"
        indexes = [
            models.Index(fields=["channel", "id"], condition=Q(deleted_at__isnull=True), name="consumer_live"),
            # For a subscriber that does not say which queue it polls.
            models.Index(fields=["public_id"], condition=Q(deleted_at__isnull=True), name="consumer_by_public_id"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "public_id"],
                condition=Q(deleted_at__isnull=True),
                name="consumer_public_id_is_unique",
                violation_error_message="This channel has a consumer with this id.",
            ),
            models.CheckConstraint(
                name="consumer_push_has_a_url",
                condition=Q(type=ConsumerType.PULL) | ~Q(callback_url=""),
                violation_error_message="A push consumer needs a callback URL.",
            ),
            models.CheckConstraint(name="consumer_type_is_known", condition=Q(type__in=ConsumerType.values)),
            models.CheckConstraint(name="consumer_pull_mode_is_known", condition=Q(pull_mode__in=PullMode.values)),
            models.CheckConstraint(name="consumer_ack_mode_is_known", condition=Q(ack_mode__in=AckMode.values)),
            models.CheckConstraint(name="consumer_in_flight_is_positive", condition=Q(max_in_flight__gte=1)),
            models.CheckConstraint(name="consumer_unacked_is_positive", condition=Q(unacked_cap__gte=1)),
            models.CheckConstraint(
                name="consumer_timeout_in_range",
                condition=Q(timeout_seconds__gt=0, timeout_seconds__lte=MAX_TIMEOUT_SECONDS),
            ),
            models.CheckConstraint(name="consumer_ack_timeout_is_positive", condition=Q(ack_timeout_seconds__gt=0)),
            models.CheckConstraint(name="consumer_attempts_in_range", condition=Q(max_attempts__gte=0)),
            *RegistryObject.Meta.constraints,
            *retry_constraints(),
        ]

    @property
    def live_previous_secret(self) -> str | None:
        until = self.previous_secret_until
        return self.previous_secret if until is not None and until > timezone.now() else None

    @property
    def in_flight_cap(self) -> int:
        return self.max_in_flight or DEFAULT_IN_FLIGHT[ConsumerType(self.type)]

    @property
    def acknowledges_by(self) -> str:
        """A lease, an index, a word of its own, or the answer to our POST."""
        return self.pull_mode if self.type == ConsumerType.PULL else self.ack_mode

    @property
    def acknowledges(self) -> bool:
        """Whether it has jobs for a while before it says what became of them."""
        return self.acknowledges_by != AckMode.RESPONSE
