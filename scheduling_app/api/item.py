"""One item of a batch, read into a message or refused."""

import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings

from broker_project.lib.errors import BrokerError
from broker_project.lib.metadata import InvalidHeader, check_name, check_size, check_value
from channels_app.delivery.accept import Incoming
from channels_app.registry import Entry
from scheduling_app.accept import Times
from scheduling_app.api.headers import (
    MESSAGE_ID,
    PRIORITIES,
    EmptyPayload,
    InvalidContentType,
    InvalidMessageId,
    InvalidPriority,
)
from scheduling_app.door.bounds import DEFAULT_CONTENT_TYPE
from scheduling_app.door.later import new_moment, times_for
from scheduling_app.door.loads import least_loaded

_NAMES = ("payload", "payloadBase64", "messageId", "contentType", "priority", "headers", "scheduledFor")
# Every name in any case; base64 for short.
_KNOWN = {name: name for name in _NAMES} | {name.lower(): name for name in _NAMES} | {"base64": "payloadBase64"}
_CONTENT_TYPE = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")


class InvalidItem(BrokerError):
    """An item is an object."""


class UnknownField(BrokerError):
    """An item has no such field."""


class RepeatedField(BrokerError):
    """This field was given twice."""


class InvalidPayload(BrokerError):
    """An item has either a payload or a payloadBase64."""


class PayloadTooLarge(BrokerError):
    """The payload is larger than one message may be."""


class ItemRefused(Exception):
    """A refusal and the field that it is about."""

    def __init__(self, field: str, error: BrokerError) -> None:
        super().__init__(field)
        self.field, self.error = field, error


def read_item(item: Any, channel: Entry, producer: Entry, fresh_ids: Iterator[str]) -> tuple[Incoming, Times | None]:
    """The message that an item stands for, and its times; without an id of its own it gets the next fresh one."""
    fields = _fields(item)
    times = None
    if "scheduledFor" in fields:
        times = _read("scheduledFor", lambda text: times_for(text, channel), fields["scheduledFor"])
    payload, content_type = _payload(fields)
    if "contentType" in fields:
        content_type = _read("contentType", _content_type, fields["contentType"])
    message = Incoming(
        channel.row_id,
        producer.row_id,
        _read("messageId", _message_id, fields["messageId"]) if "messageId" in fields else next(fresh_ids),
        payload,
        content_type,
        _read("priority", _priority, fields["priority"]) if "priority" in fields else 0,
        _read("headers", _headers, fields["headers"]) if "headers" in fields else {},
        least_loaded(channel),
    )
    return message, times


def read_change(item: dict[str, Any]) -> dict[str, Any]:
    """What is to be changed of a message for later, by column. What is left out stays; null is the default again."""
    fields, values = _named(item), {}
    if "messageId" in fields:
        raise ItemRefused("messageId", UnknownField("The id of a message cannot be changed."))
    if "scheduledFor" in fields:
        values["scheduled_for"] = _read("scheduledFor", new_moment, fields["scheduledFor"])
    if fields.keys() & {"payload", "payloadBase64"}:
        values["payload"], _ = _payload(_given(fields))
    for name, (column, reader, default) in _CHANGED.items():
        if name in fields:
            values[column] = default if fields[name] is None else _read(name, reader, fields[name])
    return values


def _fields(item: Any) -> dict[str, Any]:
    """By their right names; null is the same as not given."""
    return _given(_named(item))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _named(item: Any) -> dict[str, Any]:
    if isinstance(item, BrokerError):
        raise ItemRefused("", item)
    if not isinstance(item, dict):
        raise ItemRefused("", InvalidItem())
    fields: dict[str, Any] = {}
    for key, value in item.items():
        name = _KNOWN.get(key) or _KNOWN.get(key.lower())
        if name is None:
            raise ItemRefused(key[:100], UnknownField())
        if name in fields:
            raise ItemRefused(name, RepeatedField())
        fields[name] = value
    return fields


def _read(field: str, reader: Callable[[Any], Any], value: Any) -> Any:
    try:
        return reader(value)
    except BrokerError as error:
        raise ItemRefused(field, error) from None


def _payload(fields: dict[str, Any]) -> tuple[bytes, str]:
    """The bytes, and what they are if nobody says."""
    if ("payload" in fields) is ("payloadBase64" in fields):
        raise ItemRefused("payload", InvalidPayload())
    if "payloadBase64" in fields:
        payload, content_type = _read("payloadBase64", _decoded, fields["payloadBase64"]), DEFAULT_CONTENT_TYPE
    elif isinstance(fields["payload"], str):
        payload, content_type = _read("payload", _text, fields["payload"]), DEFAULT_CONTENT_TYPE
    else:
        payload, content_type = _read("payload", _json, fields["payload"]), "application/json"
    if not payload:
        raise ItemRefused("payload", EmptyPayload())
    if len(payload) > settings.MAX_PAYLOAD_BYTES:
        raise ItemRefused("payload", PayloadTooLarge(f"A payload has at most {settings.MAX_PAYLOAD_BYTES} bytes."))
    return payload, content_type


def _text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidPayload("The payload has half a surrogate pair: send such bytes as payloadBase64.") from None


def _decoded(text: Any) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True) if isinstance(text, str) else _not_base64()
    except ValueError:
        return _not_base64()


def _not_base64() -> bytes:
    raise InvalidPayload("payloadBase64 is not base64.")


def _json(value: Any) -> bytes:
    """Any other JSON value is a payload as its own text, without blanks."""
    try:
        return _text(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    except (ValueError, RecursionError):
        raise InvalidPayload("The payload has a number that JSON cannot write, or is nested too deep.") from None


def _message_id(text: Any) -> str:
    if not isinstance(text, str) or not MESSAGE_ID.fullmatch(text):
        raise InvalidMessageId("A messageId is 1 to 255 of A-Z a-z 0-9 . _ ~ -")
    return text


def _content_type(text: Any) -> str:
    if not isinstance(text, str) or not _CONTENT_TYPE.fullmatch(text):
        raise InvalidContentType("A contentType is a text of 1 to 255 printable ASCII characters.")
    return text


def _priority(number: Any) -> int:
    if type(number) is not int or number not in PRIORITIES:
        raise InvalidPriority("A priority is a whole number from -2147483648 to 2147483647.")
    return number


def _headers(headers: Any) -> dict[str, str]:
    """Values go out as UTF-8; they are kept as every header is, a character for each byte."""
    if not isinstance(headers, dict):
        raise InvalidHeader("Headers are an object of texts.")
    kept = {check_name(name): _header_value(value) for name, value in headers.items()}
    check_size(kept)
    return kept


def _header_value(value: Any) -> str:
    try:
        text = value if value.isascii() else value.encode().decode("latin1")
    except (AttributeError, UnicodeEncodeError):
        raise InvalidHeader("A header's value is a text.") from None
    return check_value(text)


_CHANGED: dict[str, tuple[str, Callable[[Any], Any], Any]] = {
    "contentType": ("content_type", _content_type, DEFAULT_CONTENT_TYPE),
    "priority": ("priority", _priority, 0),
    "headers": ("headers", _headers, {}),
}
