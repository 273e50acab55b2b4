"""Fields of a schedule's document: moments, time zones, payloads, headers."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from broker_project.api.fields import Text
from scheduling_app.api.headers import check_name, check_size, check_value
from scheduling_app.api.later import InvalidScheduledFor, microseconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Far enough on both sides for every time zone, and for what is reckoned from here.
_YEARS = range(1970, 9000)


@cache
def _zones() -> frozenset[str]:
    # What is not of IANA: the zone of this machine, under names of its own.
    return frozenset(available_timezones()) - {"localtime", "Factory"}


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field):  # type: ignore[type-arg]
    """ISO-8601 with a zone; a part of a second counts as one, for ticks are whole seconds."""

    default_error_messages = {"invalid": "A time is ISO-8601 with a zone, as 2026-12-31T23:59:59Z."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            at = _EPOCH + timedelta(seconds=-(-microseconds(data) // 1_000_000))
        except (InvalidScheduledFor, OverflowError):
            self.fail("invalid")
        if at.year not in _YEARS:
            self.fail("invalid")
        return at


class Zone(Text):
    """An IANA name."""

    default_error_messages = {"unknown": "There is no such time zone; one is named as Europe/Berlin is."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in _zones():
            self.fail("unknown")
        return name


@extend_schema_field({"type": "string", "minLength": 1})
class PayloadText(serializers.Field):  # type: ignore[type-arg]
    default_error_messages = {
        "invalid": "A payload is a text that is not empty.",
        "surrogate": "The payload has half a surrogate pair: send such bytes as payloadBase64.",
    }

    def to_internal_value(self, data: Any) -> bytes:
        if not isinstance(data, str) or not data:
            self.fail("invalid")
        try:
            return data.encode()
        except UnicodeEncodeError:
            self.fail("surrogate")


@extend_schema_field({"type": "string", "contentEncoding": "base64", "minLength": 4})
class PayloadBase64(serializers.Field):  # type: ignore[type-arg]
    default_error_messages = {"invalid": "This is not base64, or empty."}

    def to_internal_value(self, data: Any) -> bytes:
        try:
            payload = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
        except (binascii.Error, ValueError):
            payload = b""
        return payload or self.fail("invalid")


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class Headers(serializers.Field):  # type: ignore[type-arg]
    """Values go out as UTF-8; they are kept as every header is, a character for each byte."""

    default_error_messages = {"invalid": "Headers are an object of texts."}

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            self.fail("invalid")
        kept = {check_name(name): self._value(value) for name, value in data.items()}
        check_size(kept)
        return kept

    def _value(self, value: Any) -> str:
        try:
            text = value.encode().decode("latin1")
        except (AttributeError, UnicodeEncodeError):
            self.fail("invalid")
        return check_value(text)
