"""The fields of what a consumer says, read one by one: each is right, or refused by name."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from broker_project.lib.errors import BrokerError
from channels_app.api.pull.door import InvalidDocument

MAX_ERROR_BYTES = 1024
MAX_LEASE_SECONDS = 3600
_TEXT = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,255}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class InvalidItem(BrokerError):
    """An object is expected."""


class UnknownField(BrokerError):
    """There is no such field."""


class RepeatedField(BrokerError):
    """This field was given twice."""


class MissingField(BrokerError):
    """This field is needed."""


class InvalidField(BrokerError):
    """This is not of the right kind."""


class Refused(Exception):
    """A refusal, and the field that it is about."""

    def __init__(self, field: str, error: BrokerError) -> None:
        super().__init__(field)
        self.field, self.error = field, error

    def shown(self, path: str = "") -> dict[str, str]:
        field = f"{path}.{self.field}" if path and self.field else path or self.field
        return {"field": field, "code": self.error.code, "detail": self.error.detail}


class Field(NamedTuple):
    """Its name in a document, its name here, and what reads it."""

    name: str
    column: str
    read: Callable[[Any], Any]
    needed: bool = False


class Shape:
    """An object with these fields; names are taken in any case, and null is the same as not given."""

    def __init__(self, *fields: Field) -> None:
        self._known: Mapping[str, Field] = {key: one for one in fields for key in (one.name, one.name.lower())}
        self._needed = [one for one in fields if one.needed]

    def of(self, document: Any) -> dict[str, Any]:
        """A document that is one such object."""
        try:
            return self.read(document)
        except Refused as refusal:
            raise InvalidDocument(errors=[refusal.shown()] if refusal.field else None) from None

    def read(self, item: Any) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise Refused("", InvalidItem())
        values: dict[str, Any] = {}
        seen: set[str] = set()
        for key, value in item.items():
            field = self._field(key)
            if field.name in seen:
                raise Refused(field.name, RepeatedField())
            seen.add(field.name)
            if value is not None:
                values[field.column] = _value(field, value)
        for field in self._needed:
            if field.column not in values:
                raise Refused(field.name, MissingField())
        return values

    def _field(self, key: str) -> Field:
        field = self._known.get(key) or self._known.get(key.lower())
        if field is None:
            raise Refused(key[:100], UnknownField())
        return field


def _value(field: Field, value: Any) -> Any:
    try:
        return field.read(value)
    except BrokerError as error:
        raise Refused(field.name, error) from None


def text(value: Any) -> str:
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise InvalidField("A text of 1 to 255 characters is expected, without control characters.")
    return value


def attempt(value: Any) -> int:
    if type(value) is not int or not 1 <= value < 2**31:
        raise InvalidField("An attempt is a whole number from 1.")
    return value


def moment(value: Any) -> datetime:
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise InvalidField("A time is RFC 3339 with a zone, as 2026-12-31T23:59:59Z.")


def error(value: Any) -> str:
    """What is longer is cut: it is for people."""
    if not isinstance(value, str):
        raise InvalidField("A text is expected.")
    return value.encode("utf-8", "replace").replace(b"\0", b"?")[:MAX_ERROR_BYTES].decode("utf-8", "ignore")


def whole(least: int, most: int) -> Callable[[Any], int]:
    def reader(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise InvalidField(f"A whole number from {least} to {most} is expected.")
        return value

    return reader


def number(least: float, most: float) -> Callable[[Any], float]:
    def reader(value: Any) -> float:
        # To Python a bool is a number.
        if type(value) not in (int, float) or not least <= value <= most:
            raise InvalidField(f"A number from {least:g} to {most:g} is expected.")
        return float(value)

    return reader


def lease_seconds(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= MAX_LEASE_SECONDS:
        raise InvalidField(f"A number of seconds is expected, more than 0 and at most {MAX_LEASE_SECONDS}.")
    return float(value)
