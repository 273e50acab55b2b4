"""Bodies as Querator's JSON has them: names by word_word or wordWord, null is not given, unknown names are refused."""

import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from scheduling_app.door.later import InvalidScheduledFor, microseconds
from scheduling_app.querator.errors import UnreadableContent

Reader = Callable[[str, Any], Any]
_WHOLE = re.compile(r"-?[0-9]{1,10}", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_URL_SAFE = str.maketrans("-_", "+/")


class Shape:
    """An object with these fields."""

    def __init__(self, **fields: Reader) -> None:
        self._fields: Mapping[str, tuple[str, Reader]] = {
            spelling: (name, read) for name, read in fields.items() for spelling in (name, _camel(name))
        }

    def read(self, where: str, document: Any) -> dict[str, Any]:
        if not isinstance(document, dict):
            raise UnreadableContent(f"{where} is not an object")
        values: dict[str, Any] = {}
        for key, value in document.items():
            if key not in self._fields:
                raise UnreadableContent(f"{where} has an unknown field '{_printable(key)}'")
            name, read = self._fields[key]
            if name in values:
                raise UnreadableContent(f"{where} has the field '{name}' twice")
            if value is not None:
                values[name] = read(name, value)
        return values


def body(content: bytes, shape: Shape) -> dict[str, Any]:
    """Nothing at all is an empty object."""
    try:
        document = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        raise UnreadableContent("the body is not JSON") from None
    return shape.read("the body", document)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or _SURROGATE.search(value):
        raise UnreadableContent(f"'{name}' is not a text, or has a NUL or half a surrogate pair")
    return value


def characters(name: str, value: Any) -> str:
    """What is kept as bytes: there a NUL is one like any other."""
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise UnreadableContent(f"'{name}' is not a text, or has half a surrogate pair")
    return value


def number(name: str, value: Any) -> int:
    """32 bits; as its JSON has it, also as a text."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise UnreadableContent(f"'{name}' is not a whole number of 32 bits")
    return value


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnreadableContent(f"'{name}' is not true or false")
    return value


def raw(name: str, value: Any) -> bytes:
    """Base64 of either alphabet, with or without its padding."""
    try:
        plain = text(name, value).translate(_URL_SAFE).rstrip("=")
        return binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:
        raise UnreadableContent(f"'{name}' is not base64") from None


def moment(name: str, value: Any) -> int:
    """In microseconds since 1970."""
    try:
        return microseconds(value)
    except InvalidScheduledFor:
        raise UnreadableContent(f"'{name}' is not a time with a zone, as 2026-12-31T23:59:59Z") from None


def several(read: Reader) -> Reader:
    def reader(name: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise UnreadableContent(f"'{name}' is not a list")
        return [read(f"{name}[{place}]", one) for place, one in enumerate(value)]

    return reader


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _printable(key: str) -> str:
    return key[:100].encode("utf-8", "replace").decode()
