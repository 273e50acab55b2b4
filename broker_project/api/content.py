"""Serializer fields for what a message holds: its payload, as text or base64, and its headers."""

import base64
import binascii
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from broker_project.lib.metadata import check_name, check_size, check_value


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
