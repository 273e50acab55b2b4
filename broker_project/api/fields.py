"""Serializer fields that take what the document says and nothing near it.

A form carries only text, so from a form "5" is a number; in JSON it is not.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from django.http import QueryDict
from rest_framework import serializers

NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$"


class _TypedField(serializers.Field):  # type: ignore[type-arg]
    """Checks the JSON type before the value; what comes from a form is text and is read as such."""

    default_error_messages = {"invalid": "This is not of the right type."}
    types: ClassVar[tuple[type, ...]] = ()

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(self.root.initial_data, QueryDict):
            right = isinstance(data, self.types) and (not isinstance(data, bool) or bool in self.types)
            if not right:
                self.fail("invalid")
        return super().to_internal_value(data)


class Text(_TypedField, serializers.RegexField):
    """A string of 1 to 255 characters, kept as it is."""

    types = (str,)

    def to_internal_value(self, data: Any) -> str:
        value: str = super().to_internal_value(data)
        # In a pattern $ also matches before a last line break; the OpenAPI document has no word for the true end.
        if value.endswith("\n"):
            self.fail("invalid")
        return value

    def __init__(self, regex: str = NO_CONTROLS, **kwargs: Any) -> None:
        super().__init__(regex, **{"max_length": 255, "min_length": 1, "trim_whitespace": False} | kwargs)


class Whole(_TypedField, serializers.IntegerField):
    types = (int,)


class Number(_TypedField, serializers.FloatField):
    types = (int, float)

    def to_internal_value(self, data: Any) -> float:
        value: float = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class Flag(_TypedField, serializers.BooleanField):
    types = (bool,)


class Choice(_TypedField, serializers.ChoiceField):
    types = (str,)

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        raise serializers.ValidationError(f"One of: {', '.join(self.choices)}.", code=key)


class In(serializers.Serializer[Any]):
    """What a client sends. Key names are taken in any case; a name nobody knows is an error, not a silence.

    `ignored` are names that we show and the client may send back: a read document can be put again.
    """

    ignored: ClassVar[tuple[str, ...]] = ()

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("An object is expected.", code="invalid")
        known = {str(name).lower(): str(name) for name in self.fields}
        ignored = {name.lower() for name in self.ignored}
        named: dict[str, Any] = {}
        for key, value in data.items():
            if key.lower() in ignored:
                continue
            name = known.get(key.lower())
            if name is None:
                raise serializers.ValidationError({key: _unknown(key)}, code="unknown_field")
            if name in named:
                raise serializers.ValidationError({key: "This field is given twice."}, code="repeated_field")
            named[name] = value
        return dict(super().to_internal_value(named))


def _unknown(key: str) -> str:
    if key.startswith("{"):
        return "This looks like JSON sent as a form: send it with Content-Type: application/json."
    return "There is no such field."
