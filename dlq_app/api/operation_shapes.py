"""What long acts are asked with, and what a dry run shows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from broker_project.api.fields import Choice, Flag, In, Number, Text
from broker_project.lib.errors import BrokerError
from broker_project.lib.patterns import PUBLIC_ID, whole
from channels_app.errors import UnknownChannel, UnknownConsumer
from channels_app.models.policies import MAX_PER_SECOND
from channels_app.pull.index.moments import InvalidTime, moment
from channels_app.reasons import Reason
from channels_app.selectors import get_channel, get_consumer
from dlq_app.api.queries import FINGERPRINT
from dlq_app.api.shapes import LetterOut, note
from dlq_app.errors import ChannelMissing
from dlq_app.filters import LetterFilter
from dlq_app.walk import Sample, Stretch

LEAST_PER_SECOND = 0.01


class FilterMissing(BrokerError):
    """Either a filter that names something, or "all": true."""


class EndsBeforeItBegins(BrokerError):
    """`to` must be later than `from`."""


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field[Any, Any, Any, Any]):
    """RFC 3339 with a zone."""

    def to_internal_value(self, data: Any) -> datetime:
        try:
            return moment(data)
        except InvalidTime as error:
            raise serializers.ValidationError(error.detail, code=error.code) from None


class LongActIn(In):
    """Without a rate it goes as fast as it can. With `dryRun` nothing is changed."""

    ratePerSecond = Number(min_value=LEAST_PER_SECOND, max_value=MAX_PER_SECOND, required=False, allow_null=True)
    note = note()
    dryRun = Flag(default=False)


def _until_after_from(data: dict[str, Any]) -> None:
    if data.get("from") and data.get("to") and data["to"] <= data["from"]:
        raise EndsBeforeItBegins


class RedriveIn(LongActIn):
    """Open letters that are all of this; `q` has words of the error, all of which must be there."""

    channel = Text(whole(PUBLIC_ID), required=False)
    consumer = Text(whole(PUBLIC_ID), required=False)
    reason = Choice(choices=list(Reason), required=False)
    fingerprint = Text(whole(FINGERPRINT), required=False)
    q = Text(required=False)
    to = Moment(required=False)
    all = Flag(default=False)

    def get_fields(self) -> dict[str, Any]:
        # A name that Python keeps for itself.
        return {**super().get_fields(), "from": Moment(required=False)}

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if bool(asked_filter(data)) is data["all"]:
            raise FilterMissing
        if "consumer" in data and "channel" not in data:
            raise ChannelMissing
        _until_after_from(data)
        return {**data, "chosen": _chosen(data)}


class StretchIn(LongActIn):
    """`from` is included, `to` is not."""

    to = Moment()

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": Moment()}

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        _until_after_from(data)
        return {**data, "stretch": Stretch(data["from"], data.get("to"))}


class OpenStretchIn(StretchIn):
    """Without `to`, until now."""

    to = Moment(required=False)


FILTER_NAMES = ("channel", "consumer", "reason", "fingerprint", "q", "from", "to")


def asked_filter(data: dict[str, Any]) -> dict[str, Any]:
    """The filter in the words of whoever asked."""
    named = {name: data[name] for name in FILTER_NAMES if name in data}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in named.items()}


def _chosen(data: dict[str, Any]) -> LetterFilter:
    """By rows' ids: a name may be given to another one day."""
    channel = consumer = None
    try:
        if "channel" in data:
            channel = get_channel(data["channel"])
        if channel and "consumer" in data:
            consumer = get_consumer(channel, data["consumer"])
    except (UnknownChannel, UnknownConsumer) as error:
        field = "channel" if channel is None else "consumer"
        raise serializers.ValidationError({field: error.detail}, code=error.code) from None
    return LetterFilter(
        channel_id=channel.pk if channel else None,
        consumer_id=consumer.pk if consumer else None,
        reason=data.get("reason"),
        fingerprint=_from_hex(data["fingerprint"]) if "fingerprint" in data else None,
        words=data.get("q"),
        entered_from=data.get("from"),
        entered_before=data.get("to"),
    )


def _from_hex(text: str) -> int:
    """The 64 bits as the database has them, with a sign."""
    return int.from_bytes(bytes.fromhex(text), signed=True)


class MessageSampleOut(serializers.Serializer[Sample]):
    """`at`: when it was delivered, or, if it was missed, received."""

    messageId = serializers.CharField(source="message_id")
    at = serializers.DateTimeField()


@dataclass(frozen=True)
class DryRun:
    count: int
    is_exact: bool
    sample: list[Any]


class RedriveDryRunOut(serializers.Serializer[DryRun]):
    """If it is not exact, there are more than could be counted in a moment. The sample has the first ten."""

    count = serializers.IntegerField()
    isExact = serializers.BooleanField(source="is_exact")
    sample = LetterOut(many=True)


class StretchDryRunOut(RedriveDryRunOut):
    sample = MessageSampleOut(many=True)  # type: ignore[assignment]
