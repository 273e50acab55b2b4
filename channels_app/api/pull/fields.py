"""The fields of a small document, read into values or refused, all that is wrong at once."""

from collections.abc import Callable, Mapping
from typing import Any

from channels_app.api.pull.door import InvalidDocument

Reader = Callable[[Any], Any]


class Wrong(ValueError):
    """What is wrong with a value, in a sentence."""


def read(document: Any, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """By their right names; names come in any case, and null is the same as not given."""
    if not isinstance(document, dict):
        raise InvalidDocument("The body must be a JSON object.")
    names = {name.lower(): name for name in readers}
    values, errors = {}, []
    for key, value in document.items():
        name = names.get(key.lower())
        if name is None or name in values:
            errors.append(_error(key[:100], "unknown_field" if name is None else "repeated_field"))
        elif value is not None:
            try:
                values[name] = readers[name](value)
            except Wrong as wrong:
                errors.append({"field": name, "code": "invalid", "detail": str(wrong)})
    if errors:
        raise InvalidDocument(errors=errors)
    return values


def whole(least: int, most: int) -> Reader:
    def reader(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise Wrong(f"A whole number from {least} to {most}.")
        return value

    return reader


def number(least: float, most: float) -> Reader:
    def reader(value: Any) -> float:
        # A bool is an int to Python, and no number to anybody else; NaN is not between anything.
        if type(value) not in (int, float) or not least <= value <= most:
            raise Wrong(f"A number from {least:g} to {most:g}.")
        return float(value)

    return reader


def text(most: int) -> Reader:
    def reader(value: Any) -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
            raise Wrong(f"A text of 1 to {most} printable characters.")
        return value

    return reader


def _error(field: str, code: str) -> dict[str, str]:
    detail = "There is no such field." if code == "unknown_field" else "This field was given twice."
    return {"field": field, "code": code, "detail": detail}
