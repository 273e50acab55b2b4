"""The registry's documents: what clients send (In) and what they are shown (Out)."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from broker_project.api.fields import Choice, Flag, In, Number, Text, Whole
from broker_project.lib.callback_url import MAX_LENGTH as MAX_URL_LENGTH
from broker_project.lib.callback_url import check_callback_url, may_register
from broker_project.lib.egress import allowed_from
from broker_project.lib.patterns import PUBLIC_ID, TOKEN, whole
from channels_app.api.start import Start
from channels_app.errors import EgressDenied
from channels_app.models import Channel, Consumer, ConsumerState
from channels_app.models.channel import (
    MAX_AGE_LIMIT_SECONDS,
    MAX_BACKLOG_LIMIT,
    MAX_PARTITIONS,
    MAX_RETENTION_DAYS,
    MAX_SPREAD_SECONDS,
    Answers,
    DeadLetters,
)
from channels_app.models.consumer import (
    MAX_ACK_TIMEOUT_SECONDS,
    MAX_IN_FLIGHT_LIMIT,
    MAX_TIMEOUT_SECONDS,
    MAX_UNACKED_LIMIT,
    AckMode,
    ConsumerType,
    PullMode,
)
from channels_app.models.policies import MAX_FACTOR, MAX_PER_SECOND, MAX_RETRIES, MAX_WAIT_SECONDS, Jitter
from channels_app.pull.index.start import polls
from channels_app.reasons import Reason, is_answer

_OPTIONAL: dict[str, Any] = {"required": False, "allow_null": True}
LEAST_SECONDS = 0.001


@extend_schema_field({"oneOf": [{"type": "integer", "minimum": 300, "maximum": 599}, {"enum": list(Reason)}]})
class Answer(serializers.Field):  # type: ignore[type-arg]
    """An answer that is not tried again: a status code or a reason. Kept as text."""

    default_error_messages = {"invalid": "A status code from 300 to 599, or one of the reasons."}

    def to_internal_value(self, data: Any) -> str:
        text = "" if isinstance(data, bool) else str(data)
        if not is_answer(text):
            self.fail("invalid")
        return text

    def to_representation(self, value: str) -> int | str:
        return int(value) if value.isdigit() else value


class RetryPolicyIn(In):
    """How often and how fast to try again: wait = min(initial x factor^failures, ceiling)."""

    retries = Whole(min_value=0, max_value=MAX_RETRIES, **_OPTIONAL)
    initialSeconds = Number(
        source="retry_initial_seconds", min_value=LEAST_SECONDS, max_value=MAX_WAIT_SECONDS, **_OPTIONAL
    )
    factor = Number(source="retry_factor", min_value=1, max_value=MAX_FACTOR, **_OPTIONAL)
    ceilingSeconds = Number(
        source="retry_ceiling_seconds", min_value=LEAST_SECONDS, max_value=MAX_WAIT_SECONDS, **_OPTIONAL
    )
    jitter = Choice(source="retry_jitter", choices=Jitter.values, **_OPTIONAL)
    nonRetriable = serializers.ListField(source="non_retriable", child=Answer(), max_length=100, **_OPTIONAL)


class RateLimitIn(In):
    """A token bucket. Without a burst, as many at once as a second's rate."""

    perSecond = Number(source="rate_per_second", min_value=LEAST_SECONDS, max_value=MAX_PER_SECOND, **_OPTIONAL)
    burst = Whole(source="rate_burst", min_value=1, max_value=MAX_PER_SECOND, **_OPTIONAL)


class RegistryIn(In):
    """The fields that a channel, a producer and a consumer share."""

    ignored: ClassVar[tuple[str, ...]] = ("id", "changedAt")
    nested: ClassVar[dict[str, type[In]]] = {"rateLimit": RateLimitIn}

    name = Text(**_OPTIONAL)
    token = Text(whole(TOKEN), **_OPTIONAL)
    rateLimit = RateLimitIn(**_OPTIONAL)

    def values(self) -> dict[str, Any]:
        """The columns to set. None means the default; a nested null resets all of its columns."""
        values = dict(self.validated_data)
        for name, shape in self.nested.items():
            if name in values:
                inner = values.pop(name)
                values |= {str(field.source): None for field in shape().fields.values()} if inner is None else inner
        return values


class ProducerIn(RegistryIn):
    """Who broadcasts."""


class ChannelIn(RegistryIn):
    """Where messages are broadcast, and how they are retried, limited and kept."""

    ignored = (
        *RegistryIn.ignored,
        "consumersUrl",
        "messagesUrl",
        "broadcastUrl",
        "messagesStatusUrl",
        "scheduledMessagesUrl",
        "state",
    )
    nested = {**RegistryIn.nested, "retryPolicy": RetryPolicyIn}

    retryPolicy = RetryPolicyIn(**_OPTIONAL)
    delayedMessaging = Flag(source="delayed_messaging", **_OPTIONAL)
    deadLetters = Choice(source="dead_letters", choices=DeadLetters.values, **_OPTIONAL)
    maxBacklog = Whole(source="max_backlog", min_value=1, max_value=MAX_BACKLOG_LIMIT, **_OPTIONAL)
    maxAgeSeconds = Whole(source="max_age_seconds", min_value=1, max_value=MAX_AGE_LIMIT_SECONDS, **_OPTIONAL)
    spreadSeconds = Number(source="spread_seconds", min_value=LEAST_SECONDS, max_value=MAX_SPREAD_SECONDS, **_OPTIONAL)
    releasePerSecond = Number(
        source="release_per_second", min_value=LEAST_SECONDS, max_value=MAX_PER_SECOND, **_OPTIONAL
    )
    partitions = Whole(min_value=1, max_value=MAX_PARTITIONS, **_OPTIONAL)
    retentionDays = Whole(source="retention_days", min_value=1, max_value=MAX_RETENTION_DAYS, **_OPTIONAL)
    answers = Choice(choices=Answers.values, **_OPTIONAL)


class ConsumerIn(RegistryIn):
    """Who receives from a channel, and how. What is left open in `retryPolicy` is the channel's.

    `startFrom` is where a new consumer with `pullMode` index begins: after this index, or with the first message
    received at or after this time; without it, with the next message. It is not kept: for a consumer that is there it
    is refused, as only `seek` moves it.
    """

    ignored = (
        *RegistryIn.ignored,
        "deadLetterQueueUrl",
        "signingSecret",
        "previousSigningSecret",
        "previousSigningSecretUntil",
        "state",
    )
    nested = {**RegistryIn.nested, "retryPolicy": RetryPolicyIn}

    callbackUrl = Text(
        r"^https?://[\x21-\x7e]+$",
        source="callback_url",
        max_length=MAX_URL_LENGTH,
        error_messages={"invalid": "A callback URL is absolute and begins with http:// or https://."},
        **_OPTIONAL,
    )
    type = Choice(choices=ConsumerType.values, **_OPTIONAL)
    maxInFlight = Whole(source="max_in_flight", min_value=1, max_value=MAX_IN_FLIGHT_LIMIT, **_OPTIONAL)
    pullMode = Choice(source="pull_mode", choices=PullMode.values, **_OPTIONAL)
    unackedCap = Whole(source="unacked_cap", min_value=1, max_value=MAX_UNACKED_LIMIT, **_OPTIONAL)
    startFrom = Start(source="start_from", **_OPTIONAL)
    ackMode = Choice(source="ack_mode", choices=AckMode.values, **_OPTIONAL)
    ackTimeoutSeconds = Number(
        source="ack_timeout_seconds", min_value=LEAST_SECONDS, max_value=MAX_ACK_TIMEOUT_SECONDS, **_OPTIONAL
    )
    timeoutSeconds = Number(
        source="timeout_seconds", min_value=LEAST_SECONDS, max_value=MAX_TIMEOUT_SECONDS, **_OPTIONAL
    )
    circuitBreaker = Flag(source="circuit_breaker", **_OPTIONAL)
    retryPolicy = RetryPolicyIn(**_OPTIONAL)

    def validate_callbackUrl(self, url: str | None) -> str | None:
        if url is None:
            return None
        check_callback_url(url)
        if not may_register(url, allowed_from(settings.EGRESS_ALLOW)):
            raise EgressDenied(errors=[{"field": "callbackUrl", "code": "egress_denied", "detail": "Not public."}])
        return url

    def values(self) -> dict[str, Any]:
        """No word about the start is none, and so is null."""
        return {name: value for name, value in super().values().items() if (name, value) != ("start_from", None)}


class NewChannelIn(ChannelIn):
    """A channel that must not be there yet."""

    ignored = tuple(name for name in ChannelIn.ignored if name != "id")

    id = Text(whole(PUBLIC_ID), source="public_id")


class NewConsumerIn(ConsumerIn):
    """A consumer that its channel must not have yet."""

    ignored = tuple(name for name in ConsumerIn.ignored if name != "id")

    id = Text(whole(PUBLIC_ID), source="public_id")


class RateLimitOut(serializers.Serializer[Any]):
    perSecond = serializers.FloatField(source="rate_per_second")
    burst = serializers.IntegerField(source="rate_burst", allow_null=True)


class RetryPolicyOut(serializers.Serializer[Any]):
    retries = serializers.IntegerField(allow_null=True)
    initialSeconds = serializers.FloatField(source="retry_initial_seconds", allow_null=True)
    factor = serializers.FloatField(source="retry_factor", allow_null=True)
    ceilingSeconds = serializers.FloatField(source="retry_ceiling_seconds", allow_null=True)
    jitter = serializers.ChoiceField(source="retry_jitter", choices=Jitter.values, allow_null=True)
    nonRetriable = serializers.ListField(source="non_retriable", child=Answer(), allow_null=True)


class ChannelStateOut(serializers.Serializer[Any]):
    """`status` is delivering or paused."""

    status = serializers.CharField()
    pausedAt = serializers.DateTimeField(source="paused_at", allow_null=True)


class ConsumerStateOut(serializers.Serializer[Any]):
    """`status` is delivering, paused, disabled, breaker_open, or breaker_half_open while one job is tried.

    The indexes are shown of one that polls by index: everything up to them is acknowledged, or was handed out.
    """

    status = serializers.CharField()
    pausedAt = serializers.DateTimeField(source="paused_at", allow_null=True)
    disabledAt = serializers.DateTimeField(source="disabled_at", allow_null=True)
    disabledReason = serializers.CharField(source="disabled_reason", allow_null=True)
    failuresInARow = serializers.IntegerField(source="streak")
    breakerOpenedAt = serializers.DateTimeField(source="breaker_opened_at", allow_null=True)
    breakerOpenUntil = serializers.DateTimeField(source="breaker_until", allow_null=True)
    slots = serializers.IntegerField()
    ackedIndex = serializers.IntegerField(source="acked_index", required=False)
    sentIndex = serializers.IntegerField(source="sent_index", required=False)

    def to_representation(self, state: ConsumerState) -> dict[str, Any]:
        shown = super().to_representation(state)
        hidden = () if polls(state.consumer) else ("ackedIndex", "sentIndex")
        return {name: value for name, value in shown.items() if name not in hidden}


class RegistryOut(serializers.Serializer[Any]):
    """Secrets are shown only where `context["secrets"]` says so."""

    secret_fields: ClassVar[tuple[str, ...]] = ("token",)

    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    token = serializers.CharField(required=False)
    changedAt = serializers.DateTimeField(source="changed_at")
    rateLimit = serializers.SerializerMethodField()

    @extend_schema_field(RateLimitOut(allow_null=True))
    def get_rateLimit(self, row: Any) -> Any:
        return RateLimitOut(row).data if row.rate_per_second is not None else None

    def to_representation(self, row: Any) -> dict[str, Any]:
        shown = super().to_representation(row)
        hidden = () if self.context.get("secrets") else self.secret_fields
        return {name: value for name, value in shown.items() if name not in hidden}


class ProducerOut(RegistryOut):
    pass


class ChannelOut(RegistryOut):
    retryPolicy = RetryPolicyOut(source="*")
    delayedMessaging = serializers.BooleanField(source="delayed_messaging")
    deadLetters = serializers.ChoiceField(source="dead_letters", choices=DeadLetters.values)
    maxBacklog = serializers.IntegerField(source="max_backlog", allow_null=True)
    maxAgeSeconds = serializers.IntegerField(source="max_age_seconds")
    spreadSeconds = serializers.FloatField(source="spread_seconds", allow_null=True)
    releasePerSecond = serializers.FloatField(source="release_per_second", allow_null=True)
    partitions = serializers.IntegerField()
    retentionDays = serializers.IntegerField(source="retention_days", allow_null=True)
    answers = serializers.ChoiceField(choices=Answers.values)
    consumersUrl = serializers.SerializerMethodField()
    messagesUrl = serializers.SerializerMethodField()
    broadcastUrl = serializers.SerializerMethodField()
    messagesStatusUrl = serializers.SerializerMethodField()
    scheduledMessagesUrl = serializers.SerializerMethodField()
    state = ChannelStateOut()

    def get_consumersUrl(self, channel: Channel) -> str:
        return f"/channel/{channel.public_id}/consumers"

    def get_messagesUrl(self, channel: Channel) -> str:
        return f"/channel/{channel.public_id}/messages"

    def get_broadcastUrl(self, channel: Channel) -> str:
        return f"/channel/{channel.public_id}/broadcast"

    def get_messagesStatusUrl(self, channel: Channel) -> str:
        return f"/channel/{channel.public_id}/messages-status"

    def get_scheduledMessagesUrl(self, channel: Channel) -> str:
        return f"/channel/{channel.public_id}/scheduled-messages"


class ConsumerOut(RegistryOut):
    """`retryPolicy` is the consumer's own; null members take the channel's value."""

    secret_fields = ("token", "callbackUrl", "signingSecret", "previousSigningSecret")

    type = serializers.ChoiceField(choices=ConsumerType.values)
    callbackUrl = serializers.CharField(source="callback_url", required=False)
    signingSecret = serializers.CharField(source="signing_secret", required=False)
    previousSigningSecret = serializers.CharField(source="live_previous_secret", allow_null=True, required=False)
    previousSigningSecretUntil = serializers.DateTimeField(source="previous_secret_until", allow_null=True)
    maxInFlight = serializers.IntegerField(source="in_flight_cap")
    pullMode = serializers.ChoiceField(source="pull_mode", choices=PullMode.values)
    unackedCap = serializers.IntegerField(source="unacked_cap")
    ackMode = serializers.ChoiceField(source="ack_mode", choices=AckMode.values)
    ackTimeoutSeconds = serializers.FloatField(source="ack_timeout_seconds")
    timeoutSeconds = serializers.FloatField(source="timeout_seconds")
    circuitBreaker = serializers.BooleanField(source="circuit_breaker")
    retryPolicy = RetryPolicyOut(source="*")
    deadLetterQueueUrl = serializers.SerializerMethodField()
    state = ConsumerStateOut()

    def get_deadLetterQueueUrl(self, consumer: Consumer) -> str:
        return f"/channel/{consumer.channel.public_id}/consumer/{consumer.public_id}/dlq"


class PagesOut(serializers.Serializer[Any]):
    next = serializers.CharField(required=False)
    prev = serializers.CharField(required=False)


class ListOut(serializers.Serializer[Any]):
    result = serializers.ListField(child=serializers.CharField())
    pages = PagesOut()
